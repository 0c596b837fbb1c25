package redisstore_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// disaster befalls one of the servers of a load.
type disaster struct {
	client redis.UniversalClient
	had    func(slot int) bool     // whether that server had the slot; nil: it had all
	before func()                  // at a third of the load; may be nil
	strike func()                  // at half of it; then that server answers nothing more
	heir   *testserver.RedisServer // has its records afterwards
	crown  func()                  // has the heir replace that server; may be nil
	after  func()                  // when the load has gone on; may be nil
}

// damage is what a disaster did to a load of which every message was finished.
type damage struct {
	dones, claims int           // records that the heir does not have as they were promised
	certain       int           // dones from between before and strike, those in doubt left out
	doubled       int           // messages that ran twice
	outage        time.Duration // from the strike to the first end recorded by the heir
}

// survive delivers messages and their copies through d, and each once more when
// all is finished. It wants a message to run twice exactly if its done record
// was lost, and at most if its claim was.
func survive(t *testing.T, d disaster) damage {
	t.Helper()
	l := newLoad(t, d.client, newKeys(1500))
	third, half, rest := l.after(500), l.after(750), l.after(900)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		l.deliver(l.withCopies())
		l.deliver(l.once())
	}()
	<-third
	if d.before != nil {
		d.before()
	}
	safe := l.recorded.Load()
	<-half
	found := damage{certain: int(l.recorded.Load()-safe) - callers}
	began := time.Now()
	d.strike()
	l.gone.Store(true)
	left := recordsOf(t, d.heir) // before it gets others
	if d.crown != nil {
		d.crown()
	}
	<-rest
	if d.after != nil {
		d.after()
	}
	<-finished

	found.outage = l.outage(began, d.had)
	l.judge(t, d, left, &found)
	t.Logf("%d messages; %v without the server; %d done records and %d claims lost; %d messages doubled",
		len(l.keys), found.outage.Round(time.Millisecond), found.dones, found.claims, found.doubled)
	return found
}

// judge compares what the server had promised with what its heir has left, and
// the loss with the runs.
func (l *load) judge(t *testing.T, d disaster, left map[string]string, found *damage) {
	t.Helper()
	for n, k := range l.keys {
		name, dones, claims := recordName(k), 0, 0
		if d.had == nil || d.had(slotOf(name)) {
			dones, claims = l.lost(k, left[name], found.outage)
		}
		runs := int(l.runs[n].Load())
		if least := 1 + dones; runs < least || runs > least+claims {
			t.Errorf("message %d ran %d times, with %d done records and %d claims lost; granted %+v, left %q",
				n, runs, dones, claims, l.grants[k], left[name])
		}
		found.dones += dones
		found.claims += claims
		found.doubled += runs - 1
	}
}

// recordsOf are the records that a server has, by name, once it gets no more
// of them from one that is gone.
func recordsOf(t *testing.T, s *testserver.RedisServer) map[string]string {
	t.Helper()
	conn := connect(t, s.Addr(), nil).Conn()
	defer conn.Close()
	ctx := within(t, ample)
	_ = conn.ReadOnly(ctx) // only the replica of a cluster needs it, others refuse it
	last, same := readAll(t, ctx, conn), 0
	for same < 10 { // a busy machine can leave what has arrived unread for a while
		time.Sleep(20 * time.Millisecond)
		now := readAll(t, ctx, conn)
		if same++; !maps.Equal(last, now) {
			same = 0
		}
		last = now
	}
	return last
}

func readAll(t *testing.T, ctx context.Context, conn *redis.Conn) map[string]string {
	t.Helper()
	names, err := conn.Keys(ctx, prefix+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	pipe := conn.Pipeline()
	for _, name := range names {
		pipe.Get(ctx, name)
	}
	values, err := pipe.Exec(ctx)
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	all := map[string]string{}
	for i, value := range values {
		all[names[i]] = value.(*redis.StringCmd).Val()
	}
	return all
}

// lost tells which records of k were promised by the server that is gone and
// are not what its heir has: left. A claim that may have lapsed during the
// outage is as good as lost.
func (l *load) lost(k store.Key, left string, outage time.Duration) (dones, claims int) {
	grants, ends := l.grants[k], l.ends[k]
	promised := len(ends) > 0 && !ends[0].late
	switch {
	case promised && strings.HasPrefix(left, "D|"):
	case promised && ends[0].inDoubt:
		return 0, 1 // it may run again or not, as after the loss of a claim
	case promised:
		return 1, 0
	case !promised && !grants[0].late && (left == "" || outage > loadLease/2):
		return 0, 1
	}
	return 0, 0
}

// outage is the time from began to the first end of a key that the server had.
func (l *load) outage(began time.Time, had func(slot int) bool) time.Duration {
	var shortest time.Duration
	for k, ends := range l.ends {
		if had != nil && !had(slotOf(recordName(k))) {
			continue
		}
		for _, end := range ends {
			if passed := end.at.Sub(began); end.late && (shortest == 0 || passed < shortest) {
				shortest = passed
			}
		}
	}
	return shortest
}
