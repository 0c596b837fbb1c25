package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain lets the test binary be a contender, as the program itself is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == contendVerb {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (-update writes it anew): got\n%s\nwant\n%s", name, got, want)
	}
}

func TestBadUseExitsWith2(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string // on standard error
	}{
		"nothing":           {nil, "usage:"},
		"unknown verb":      {[]string{"produce"}, "unknown verb \"produce\""},
		"unknown flag":      {[]string{"consume", "-speed", "1"}, "-speed"},
		"bad values":        {[]string{"consume", "-namesrv", "h:1", "-redis", "h:2", "-reps", "0"}, "-reps is 0"},
		"a contender alone": {[]string{contendVerb}, "not for use by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, log bytes.Buffer
			if code := run(t.Context(), c.args, &out, &log); code != 2 {
				t.Errorf("got exit code %d, want 2", code)
			}
			if !strings.Contains(log.String(), c.want) {
				t.Errorf("got %q, want it to contain %q", log.String(), c.want)
			}
		})
	}
}

func TestHelpExitsWith0(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help"}, {"-h"}, {"consume", "-h"}} {
		var out bytes.Buffer
		if code := run(t.Context(), args, &out, &out); code != 0 || out.Len() == 0 {
			t.Errorf("%v: got exit code %d and %q, want 0 and help", args, code, out.String())
		}
	}
}
