//go:build unix

package main_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestTheKeyGoesWhereTheConfigurationLooksForIt(t *testing.T) {
	t.Parallel()
	for key, flags := range map[string][]string{
		"keys":                nil,
		"property:ORDER_ID":   nil,
		"json:key":            nil,
		"'{tag}/{json:o.no}'": {"-tag", "paid", "-body", `{"o":{"no":"{key}"}}`},
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "key: keys", "key: "+key)
			p := call(t, nil, append([]string{"produce", "-config", s.file, "-topic", s.topic, "-key", "A1"}, flags...)...)
			p.exits(t, 0)
			if strings.Contains(p.stderr.String(), "key") {
				t.Errorf("got %q, want no warning", &p.stderr)
			}
			c := s.consume(t, `echo "$DEDUP_KEY" >got`)
			eventually(t, "the command runs", func() bool { return s.read("got") != "" })
			want := "A1\n"
			if flags != nil {
				want = "paid/A1\n"
			}
			if got := s.read("got"); got != want {
				t.Errorf("got the key %q, want %q", got, want)
			}
			c.signal(t, syscall.SIGTERM)
			c.exits(t, 0)
		})
	}
}

func TestAKeyThatConsumersWillNotFindIsWarnedOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ body, want string }{
		{"no JSON", "will defer"},
		{`{"other":"{key}"}`, "will find no key"},
	} {
		s := newScene(t, "key: keys", "key: json:order.no")
		p := call(t, nil, "produce", "-config", s.file, "-topic", s.topic, "-key", "A1", "-body", row.body)
		p.exits(t, 0)
		if !strings.Contains(p.stderr.String(), row.want) {
			t.Errorf("%s: got %q, want it to say %q", row.body, &p.stderr, row.want)
		}
	}
}

func TestABodyFromAFileArrivesAsItIs(t *testing.T) {
	t.Parallel()
	body := "{key}\x00\xff\n" + strings.Repeat("long", 100_000)
	s := newScene(t)
	s.produce(t, "A1", "-file", s.write(t, "body", body))
	c := s.consume(t, `cat >part && mv part got`)
	eventually(t, "the command runs", func() bool { return s.read("got") != "" })
	if s.read("got") != body {
		t.Error("the command did not get the file's content")
	}
	c.signal(t, syscall.SIGTERM)
	c.exits(t, 0)
}

func TestFailuresToSend(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	p := call(t, nil, "produce", "-config", s.file, "-topic", s.topic, "-key", "A1",
		"-file", filepath.Join(s.dir, "nowhere"))
	p.exits(t, 1)
	if !strings.Contains(p.stderr.String(), "nowhere") || p.stdout.String() != "" {
		t.Errorf("got %q and %q, want an error that names the file", &p.stdout, &p.stderr)
	}
	large := make([]byte, 5<<20)                   // more than a broker takes, even compressed
	_, _ = rand.NewChaCha8([32]byte{}).Read(large) // it cannot fail
	p = call(t, nil, "produce", "-config", s.file, "-topic", s.topic, "-key", "A1",
		"-file", s.write(t, "body", string(large)))
	p.exits(t, 1)
	if got := p.stdout.String(); got != "sent=0 distinct=0 resent=0\n" {
		t.Errorf("got %q, want a summary of nothing", got)
	}
}

func TestAWrongNameServerIsNamed(t *testing.T) {
	t.Parallel()
	_, stderr := once(t, 1, "produce", "-config", file(t, valid), "-topic", "orders", "-key", "A1")
	if !strings.Contains(stderr, "rocketmq.name_servers: no name server answers there") ||
		!strings.Contains(stderr, "127.0.0.1:1") || strings.Contains(stderr, "route") {
		t.Errorf("got %q, want it to name the server and no route", stderr)
	}
	if strings.Contains(stderr, "not in the configuration") {
		t.Errorf("got %q, want no warning about the topic", stderr)
	}
}

func TestATopicThatIsNotConfiguredIsWarnedOf(t *testing.T) {
	t.Parallel()
	_, stderr := once(t, 1, "produce", "-config", file(t, valid), "-topic", "oders", "-key", "A1")
	if !strings.Contains(stderr, "topic oders is not in the configuration: its consumers take orders only") {
		t.Errorf("got %q, want a warning", stderr)
	}
}

func TestADefaultKeyIsNothingToBeWarnedOf(t *testing.T) {
	t.Parallel()
	s := newScene(t, "key: keys", "key: default")
	p := call(t, nil, "produce", "-config", s.file, "-topic", s.topic, "-key", "A1")
	p.exits(t, 0)
	if got := p.stderr.String(); strings.Contains(got, "dedupctl: ") {
		t.Errorf("got %q, want no warning", got)
	}
}

func TestTheBodyMayComeFromStandardInput(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := out.WriteString("from a pipe"); err != nil {
		t.Fatal(err)
	}
	out.Close()
	p := prepare([]string{"produce", "-config", s.file, "-topic", s.topic, "-key", "A1", "-file", "-"})
	p.Stdin = in
	p.start(t)
	p.exits(t, 0)
	c := s.consume(t, `cat >part && mv part got`)
	eventually(t, "the command runs", func() bool { return s.read("got") != "" })
	if got := s.read("got"); got != "from a pipe" {
		t.Errorf("got %q, want what was piped in", got)
	}
	c.signal(t, syscall.SIGTERM)
	c.exits(t, 0)
}
