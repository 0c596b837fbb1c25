package main

import (
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
)

func parsed(t *testing.T, args ...string) settings {
	t.Helper()
	s, err := parse(append([]string{"-namesrv", "h:1", "-redis", "h:2"}, args...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWithoutFlagsTheWholeMatrixIsPlayed(t *testing.T) {
	t.Parallel()
	s := parsed(t)
	cells := s.cells()
	if len(cells) != 16 {
		t.Errorf("got %d cells, want 2 batches × 2 callbacks × 2 shares of copies × 2 times", len(cells))
	}
	if got, want := cells[0], (cell{1, 20, 0, 0, 0}); got != want {
		t.Errorf("got %v first, want %v", got, want)
	}
	if got, want := cells[15], (cell{32, 64, 20, time.Millisecond, 5000}); got != want {
		t.Errorf("got %v last, want %v", got, want)
	}
	want := []contender{{Name: "plain"}, {Name: "hand"}, {Name: "ours"}}
	if got := s.field(); !reflect.DeepEqual(got, want) {
		t.Errorf("got contenders %v, want %v", got, want)
	}
}

func TestListsAreSeparatedByCommas(t *testing.T) {
	t.Parallel()
	s := parsed(t, "-batch", "4, 8", "-work", "0,2ms", "-dup", "5", "-contenders", "ours,plain",
		"-contender", "java=java -jar x=y.jar")
	if got, want := s.Batches, []int{4, 8}; !reflect.DeepEqual(got, want) {
		t.Errorf("got batches %v, want %v", got, want)
	}
	if got, want := s.Works, []time.Duration{0, 2 * time.Millisecond}; !reflect.DeepEqual(got, want) {
		t.Errorf("got work %v, want %v", got, want)
	}
	want := []contender{{Name: "ours"}, {Name: "plain"}, {"java", "java -jar x=y.jar"}}
	if got := s.field(); !reflect.DeepEqual(got, want) {
		t.Errorf("got contenders %v, want %v", got, want)
	}
}

func TestEachStoreNeedsItsServerOnlyAndHandAServer(t *testing.T) {
	t.Setenv("DEDUP_TEST_REDIS", "")
	t.Setenv("DEDUP_TEST_MARIADB", "")
	all, alone := []contender{{Name: "plain"}, {Name: "hand"}, {Name: "ours"}}, []contender{{Name: "plain"}, {Name: "ours"}}
	for store, want := range map[string]struct {
		flag  string
		field []contender
	}{"redis": {"-redis", all}, "mysql": {"-mysql", all}, "sqlite": {"", alone}, "memory": {"", alone}} {
		args := []string{"-namesrv", "h:1", "-store", store}
		if want.flag != "" {
			_, err := parse(args, io.Discard)
			if err == nil || !strings.HasPrefix(err.Error(), want.flag+" is missing") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want that %s is missing and no more", store, err, want.flag)
			}
			args = append(args, want.flag, "h:2")
		}
		s, err := parse(args, io.Discard)
		if got := s.field(); err != nil || !reflect.DeepEqual(got, want.field) {
			t.Errorf("%s: got contenders %v, %v, want %v", store, got, err, want.field)
		}
	}
}

func TestNoPasswordIsPrinted(t *testing.T) {
	t.Setenv("DEDUP_TEST_MARIADB", "root:secret@tcp(h:1)/dedup")
	var help strings.Builder
	_, _ = parse([]string{"-h"}, &help) // it only prints
	_, err := parse([]string{"-mysql", "root:secret/dedup"}, io.Discard)
	if err == nil || help.Len() == 0 || strings.Contains(help.String()+err.Error(), "secret") {
		t.Errorf("got %v and help\n%s\nwant an error, and both without the password", err, help.String())
	}
}

func TestTheServersOfTheTestsAreTheDefault(t *testing.T) {
	t.Setenv("DEDUP_TEST_NAMESRV", "h:3")
	t.Setenv("DEDUP_TEST_REDIS", "h:4")
	t.Setenv("DEDUP_TEST_MARIADB", "h:5")
	s, err := parse(nil, io.Discard)
	if err != nil || s.NameServer != "h:3" || s.Redis != "h:4" || s.MySQL != "h:5" {
		t.Errorf("got %s, %s, %s, %v, want h:3, h:4, h:5", s.NameServer, s.Redis, s.MySQL, err)
	}
}

func TestEveryBadFlagIsNamedAtOnce(t *testing.T) {
	t.Setenv("DEDUP_TEST_NAMESRV", "")
	bad := map[string]string{
		"-store": "file", "-batch": "0,1", "-callbacks": "1,20000", "-dup": "51", "-work": "-1s", "-rate": "-1",
		"-messages": "99", "-size": "7", "-reps": "0", "-warmups": "-1", "-timeout": "1ms", "-contenders": "theirs",
		"-contender": "A b=true", "-mysql": "root@unix(/sock)/dedup", "-out": "none/x.json", "-svg": "none/x.svg", "-write": "settings_test.go",
	}
	var args []string
	for name, value := range bad {
		args = append(args, name, value)
	}
	_, err := parse(append(args, "rest"), io.Discard)
	if err == nil {
		t.Fatal("got no error")
	}
	lines := strings.Split(err.Error(), "\n")
	for name := range bad {
		if !strings.Contains(err.Error(), name+" is ") && !strings.Contains(err.Error(), name+": ") {
			t.Errorf("got nothing about %s", name)
		}
	}
	for _, want := range []string{"-namesrv is missing", `"rest" is not a flag`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got nothing like %q", want)
		}
	}
	if len(lines) != len(bad)+2 {
		t.Errorf("got %d problems, want %d:\n%v", len(lines), len(bad)+2, err)
	}
}

func TestContradictionsAreRefused(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"hand needs -store redis or mysql": {"-store", "memory", "-contenders", "hand"},
		`"ours" is there twice`:            {"-contenders", "ours,ours"},
		`"plain" is there twice`:           {"-contender", "plain=true"},
		"-profiles needs -warmups":         {"-profiles", "x", "-warmups", "0"},
		"want 8192 or more":                {"-messages", "8191"},
		"want name=command":                {"-contender", "java"},
		"invalid syntax":                   {"-batch", "1,,2"},
		`invalid duration "soon"`:          {"-work", "soon"},
		`is none of plain, hand, o`:        {"-contenders", ""},
	} {
		_, err := parse(append([]string{"-namesrv", "h:1", "-redis", "h:2"}, args...), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", args, err, want)
		}
	}
}
