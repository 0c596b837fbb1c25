//go:build unix

package main_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

func client(t *testing.T) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: storetest.Server(t, "DEDUP_TEST_REDIS")})
	t.Cleanup(func() { c.Close() })
	return c
}

// forget removes the records of one test.
func forget(t *testing.T, prefix string) {
	t.Helper()
	c := client(t)
	ctx, cancel := context.WithTimeout(context.Background(), ample) // the test's own has ended
	defer cancel()
	for names := c.Scan(ctx, 0, prefix+"*", 1000).Iterator(); names.Next(ctx); {
		c.Del(ctx, names.Val())
	}
}

func sortedLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return lines
}

func TestTheCommandRunsOncePerKey(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	got := s.produce(t, "K", "-count", "5", "-resend", "40", "-tag", "paid", "-body", `{"no":"{key}"}`)
	if want := "sent=7 distinct=5 resent=2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p := s.consume(t, `echo "$DEDUP_TOPIC $DEDUP_TAG $DEDUP_KEY $DEDUP_RECONSUME_TIMES $DEDUP_ATTEMPT $(cat)" >>ran; `+
		`echo "$DEDUP_KEY" "$DEDUP_MESSAGE_ID" >>ids; echo "$DEDUP_KEY" is done; echo "$DEDUP_KEY" was easy >&2`)
	eventually(t, "all keys have run", func() bool { return strings.Count(s.read("ids"), "\n") == 5 })
	// The copies come before or after: what is still deferred stays for the group.
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)

	var want []string
	for i := range 5 {
		key := "K-" + strconv.Itoa(i+1)
		want = append(want, s.topic+" paid "+key+` 0 1 {"no":"`+key+`"}`)
		if !strings.Contains(p.stdout.String(), key+" is done\n") || !strings.Contains(p.stderr.String(), key+" was easy\n") {
			t.Errorf("the output of %s was not passed on", key)
		}
	}
	if got := sortedLines(s.read("ran")); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, line := range sortedLines(s.read("ids")) {
		if _, id, _ := strings.Cut(line, " "); len(id) != 32 {
			t.Errorf("got message id %q, want 32 characters", id)
		}
	}
}

func TestTheExitCodeOfTheCommandDecides(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.produce(t, "fails")
	s.produce(t, "hopeless")
	p := s.consume(t, `echo "$DEDUP_KEY $DEDUP_ATTEMPT $DEDUP_RECONSUME_TIMES" >>ran
		case "$DEDUP_KEY-$DEDUP_ATTEMPT" in hopeless*) exit 65;; fails-1) exit 3;; fails-2) kill -9 $$;; esac`)
	eventually(t, "the third run", func() bool { return strings.Contains(s.read("ran"), "fails 3 2") })
	p.signal(t, os.Interrupt)
	p.exits(t, 0)
	want := []string{"fails 1 0", "fails 2 1", "fails 3 2", "hopeless 1 0"}
	if got := sortedLines(s.read("ran")); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, text := range []string{"exit status 3", "exit status 65", "signal: killed"} {
		if !strings.Contains(p.stderr.String(), text) {
			t.Errorf("the log does not say %q", text)
		}
	}
}

func TestTheSummaryTellsWhatWasDone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.produce(t, "K", "-count", "3")
	began := time.Now()
	p := call(t, []string{"DEDUP_LOG_LEVEL=error", "DEDUP_LOG_FORMAT=json"}, "consume", "-config", s.file,
		"-exec", "cd '"+s.dir+`'; echo >>"$DEDUP_KEY"; [ "$DEDUP_KEY-$DEDUP_ATTEMPT" != K-2-1 ]`)
	eventually(t, "one has run twice", func() bool { return s.read("K-1") != "" && s.read("K-2") == "\n\n" && s.read("K-3") != "" })
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
	took := time.Since(began).Seconds()
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	var last struct {
		Msg                            string
		Ran, Skipped, Deferred, Failed int
		Seconds                        float64
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if last.Msg != "dedupctl: stopped" || last.Ran != 3 || last.Failed != 1 || last.Skipped > 2 || last.Deferred != 0 {
		t.Errorf("got %+v, want 3 ran and 1 failed", last)
	}
	if last.Seconds < 1 || last.Seconds > took { // the retry alone took one
		t.Errorf("got %v s, want 1 to %v", last.Seconds, took)
	}
}

func TestTheCommandDoesNotSeeOurSettings(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.produce(t, "K")
	p := call(t, []string{"DEDUP_LOG_LEVEL=debug", "MINE=kept"},
		"consume", "-config", s.file, "-exec", "env >'"+s.dir+"/env'; echo >'"+s.dir+"/done'")
	eventually(t, "the command has run", func() bool { return s.read("done") != "" })
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
	env := sortedLines(s.read("env"))
	if slices.Contains(env, "DEDUP_LOG_LEVEL=debug") || !slices.Contains(env, "MINE=kept") {
		t.Errorf("got %q, want all but our settings", env)
	}
}

func TestKeysThatNoVariableCanHold(t *testing.T) {
	t.Parallel()
	s := newScene(t, "key: keys", "key: json:no")
	long := strings.Repeat("x", 300)
	s.produce(t, "nul", "-body", `{"no":"a\u0000b"}`)
	s.produce(t, "long", "-body", `{"no":"`+long+`"}`)
	p := s.consume(t, `echo "$DEDUP_KEY" >>got`)
	eventually(t, "both have run", func() bool { return strings.Count(s.read("got"), "\n") == 2 })
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
	want := []string{"a%00b", fmt.Sprintf("~%x", sha256.Sum256([]byte(long)))}
	if got := sortedLines(s.read("got")); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// family takes longer than a test: a command and a child of it that leave their
// ids and run TRAP at SIGTERM. An empty TRAP ignores it.
const family = `trap "$TRAP" TERM; echo $$ >$DEDUP_ATTEMPT.parent; n=0
	sh -c 'trap "$TRAP" TERM; echo $$ >$DEDUP_ATTEMPT.child
		n=0; while [ $n -lt 2000 ]; do sleep 0.1; n=$((n+1)); done' &
	while [ $n -lt 2000 ]; do sleep 0.1; n=$((n+1)); done`

// ids waits for the family of one attempt.
func (s scene) ids(t *testing.T, attempt int) (ids []int) {
	t.Helper()
	for _, name := range []string{"parent", "child"} {
		file := strconv.Itoa(attempt) + "." + name
		eventually(t, file+" is there", func() bool { return strings.HasSuffix(s.read(file), "\n") })
		pid, err := strconv.Atoi(strings.TrimSpace(s.read(file)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, pid)
	}
	return ids
}

func TestKillingUsKillsTheCommandAndAnotherTakesOver(t *testing.T) {
	t.Parallel()
	s := newScene(t, hasty...)
	s.produce(t, "K")
	p := s.consume(t, `export TRAP=; `+family)
	ids := s.ids(t, 1)
	survivor := s.consume(t, `echo "$DEDUP_ATTEMPT" >again`)
	p.signal(t, syscall.SIGKILL)
	for _, pid := range ids {
		gone(t, pid)
	}
	eventually(t, "the survivor runs it", func() bool { return s.read("again") == "2\n" })
	survivor.signal(t, syscall.SIGTERM)
	survivor.exits(t, 0)
}

func TestADrainWaitsForTheCommand(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.produce(t, "K")
	p := s.consume(t, `echo >began; sleep 2; echo >ended`)
	eventually(t, "the command has begun", func() bool { return s.read("began") != "" })
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
	if s.read("ended") == "" {
		t.Error("the command did not end")
	}
}

func TestADrainOverItsLimitEndsTheCommandAndGivesItsClaimBack(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, trap, killAfter, byes string }{
		{"obedient", "echo bye >>byes; exit", "1m", "bye\nbye\n"},
		{"stubborn", "echo no >>byes", "1s", "no\nno\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, "drain_timeout: 20s", "drain_timeout: 500ms", "LEASE", "30s")
			s.produce(t, "K")
			p := s.consume(t, `export TRAP='`+row.trap+`'; `+family, "-kill-after", row.killAfter)
			ids := s.ids(t, 1)
			began := time.Now()
			p.signal(t, syscall.SIGTERM)
			p.exits(t, 3)
			for _, pid := range ids {
				gone(t, pid)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v to stop", took)
			}
			if got := s.read("byes"); got != row.byes {
				t.Errorf("the command and its child said %q, want %q", got, row.byes)
			}
			if !strings.Contains(p.stderr.String(), "drain ran out of time") {
				t.Error("the log does not tell why")
			}
			// Within the lease: the claim was given back.
			began = time.Now()
			next := s.consume(t, `echo "$DEDUP_ATTEMPT" >again`)
			eventually(t, "the next consumer runs it", func() bool { return s.read("again") == "2\n" })
			if took := time.Since(began); took > 25*time.Second {
				t.Errorf("the claim was held for %v", took)
			}
			next.signal(t, syscall.SIGTERM)
			next.exits(t, 0)
		})
	}
}

func TestALostClaimKillsTheCommand(t *testing.T) {
	t.Parallel()
	s := newScene(t, hasty...)
	s.produce(t, "K")
	p := s.consume(t, `export TRAP=; [ "$DEDUP_RECONSUME_TIMES" = 0 ] || { echo >again; exit; }; `+family, "-kill-after", "500ms")
	ids := s.ids(t, 1)
	c := client(t)
	names, err := c.Keys(t.Context(), s.prefix+"*:K}").Result()
	if err != nil || len(names) != 1 {
		t.Fatalf("got records %q, %v, want one", names, err)
	}
	if err := c.Del(t.Context(), names[0]).Err(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range ids {
		gone(t, pid)
	}
	p.says(t, "lease lost")
	eventually(t, "it runs again", func() bool { return s.read("again") != "" })
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
}

func TestACommandThatTakesTooLongIsKilled(t *testing.T) {
	t.Parallel()
	s := newScene(t, append(hasty, "max_consume: 1m", "max_consume: 8s")...)
	s.produce(t, "K")
	p := s.consume(t, `export TRAP=exit; [ "$DEDUP_ATTEMPT" = 1 ] || exit 0; `+family)
	for _, pid := range s.ids(t, 1) {
		gone(t, pid)
	}
	p.says(t, "max consume exceeded")
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
}

func TestWhatACommandLeavesBehindIsKilled(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.produce(t, "K")
	p := s.consume(t, `sleep 600 & echo $! >left`)
	eventually(t, "the command has run", func() bool { return strings.HasSuffix(s.read("left"), "\n") })
	pid, err := strconv.Atoi(strings.TrimSpace(s.read("left")))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
}

func TestFailuresToStart(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, row := range []struct {
		name  string
		env   []string
		wants string
	}{
		{"no Redis", []string{"DEDUP_STORE_REDIS_ADDRS=127.0.0.1:1"}, "store.redis.addrs: "},
		{"an unknown user", []string{"DEDUP_STORE_REDIS_USERNAME=nobody", "DEDUP_STORE_REDIS_PASSWORD=hunter2"},
			"store.redis.password: "},
		{"no name server", []string{"DEDUP_ROCKETMQ_NAME_SERVERS=127.0.0.1:1"}, "rocketmq.name_servers: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := call(t, row.env, "consume", "-config", s.file, "-exec", "true")
			p.exits(t, 1)
			if !strings.Contains(p.stderr.String(), row.wants) {
				t.Errorf("standard error does not say %q", row.wants)
			}
			if strings.Contains(p.stdout.String()+p.stderr.String(), "hunter2") {
				t.Error("a secret was printed")
			}
		})
	}
}

func TestASignalWhileStartingIsNoFailure(t *testing.T) {
	t.Parallel()
	s := newScene(t, ", key: keys", "") // which it warns of just before
	silent := testserver.NewProxy(t, "127.0.0.1:1")
	silent.BlackHole(true)
	p := call(t, []string{"DEDUP_STORE_REDIS_ADDRS=" + silent.Addr()}, "consume", "-config", s.file, "-exec", "true")
	p.says(t, "topics[0].key")
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
}
