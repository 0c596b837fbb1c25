package main

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func environment(s stage) func(string) string {
	all := map[string]string{}
	for _, pair := range s.env() {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return func(name string) string { return all[name] }
}

func TestAStageSurvivesItsEnvironment(t *testing.T) {
	t.Parallel()
	var want stage
	fields := reflect.ValueOf(&want).Elem()
	for i := range fields.NumField() { // every field, each with a value of its own
		switch f := fields.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("text=" + fields.Type().Field(i).Name)
		default:
			f.SetInt(int64(i+1) * int64(time.Millisecond))
		}
	}
	got, err := stageOf(environment(want))
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestAForeignEnvironmentIsRefused(t *testing.T) {
	t.Parallel()
	_, err := stageOf(func(string) string { return "x" })
	for _, name := range []string{"MESSAGES", "KEYS", "BATCH", "CALLBACKS", "RATE", "WORK"} {
		if err == nil || !strings.Contains(err.Error(), envPrefix+name) {
			t.Errorf("got %v, want it to name %s", err, envPrefix+name)
		}
	}
}
