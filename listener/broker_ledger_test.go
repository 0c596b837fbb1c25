package listener_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// ledger notes what happens to messages, by their bodies, where no store can
// tell it what to write.
type ledger struct {
	mu        sync.Mutex // guards what follows
	started   map[string][]*run
	sightings map[string][]sighting
	events    []dedup.Event
	overlaps  []string // bodies of which two runs were on at once
}

// run is one call of a handler.
type run struct {
	by           string
	began, ended time.Time // ended is zero while it is on
	finished     bool      // it returned no error
}

// sighting is one delivery by the client.
type sighting struct {
	by         string
	at         time.Time
	reconsumed int32
	from       string   // the topic it came from, a retry topic perhaps
	batch      []string // the topics of all messages that came with it
}

// counted is h with its runs noted.
func (l *ledger) counted(by string, h listener.Handler) listener.Handler {
	return func(ctx context.Context, m *primitive.MessageExt) (err error) {
		r, returned := l.begin(by, string(m.Body)), false
		defer func() { l.end(r, returned && err == nil) }()
		err = h(ctx, m)
		returned = true
		return err
	}
}

func (l *ledger) begin(by, body string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started == nil {
		l.started = map[string][]*run{}
	}
	if slices.ContainsFunc(l.started[body], func(r *run) bool { return r.ended.IsZero() }) {
		l.overlaps = append(l.overlaps, body)
	}
	r := &run{by: by, began: time.Now()}
	l.started[body] = append(l.started[body], r)
	return r
}

func (l *ledger) end(r *run, finished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.ended, r.finished = time.Now(), finished
}

// Observe notes an event of the engine.
func (l *ledger) Observe(_ context.Context, e dedup.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// watched is a subscriber that notes what the client delivers.
type watched struct {
	listener.Subscriber
	ledger *ledger
	by     string
}

// Subscribe puts the ledger between the client and f.
func (w watched) Subscribe(topic string, selector consumer.MessageSelector, f func(context.Context,
	...*primitive.MessageExt) (consumer.ConsumeResult, error)) error {
	return w.Subscriber.Subscribe(topic, selector, w.ledger.watching(w.by, f))
}

func (l *ledger) watching(by string, cb listener.Callback) listener.Callback {
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		var topics []string
		for _, m := range msgs {
			topics = append(topics, m.Topic)
		}
		l.mu.Lock()
		if l.sightings == nil {
			l.sightings = map[string][]sighting{}
		}
		for _, m := range msgs {
			l.sightings[string(m.Body)] = append(l.sightings[string(m.Body)],
				sighting{by, time.Now(), m.ReconsumeTimes, m.Queue.Topic, topics})
		}
		l.mu.Unlock()
		return cb(ctx, msgs...)
	}
}

// runs is how many runs of body have begun.
func (l *ledger) runs(body string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.started[body])
}

// deliveries are those of body so far, in order.
func (l *ledger) deliveries(body string) []sighting {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sightings[body])
}

// find returns the events so far that are as described.
func (l *ledger) find(is func(dedup.Event) bool) (found []dedup.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if is(e) {
			found = append(found, e)
		}
	}
	return found
}

func (l *ledger) count(is func(dedup.Event) bool) int { return len(l.find(is)) }

func outcome(o dedup.Outcome) func(dedup.Event) bool {
	return func(e dedup.Event) bool { return e.Outcome == o }
}

func because(err error) func(dedup.Event) bool {
	return func(e dedup.Event) bool { return errors.Is(e.Err, err) }
}

func acknowledged(e dedup.Event) bool { return e.Outcome.Finished() }

// runsOf counts the runs of a member, and those that are still on.
func (l *ledger) runsOf(m *member) (begun, on int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, runs := range l.started {
		for _, r := range runs {
			if r.by != m.name {
				continue
			}
			begun++
			if r.ended.IsZero() {
				on++
			}
		}
	}
	return begun, on
}

// tally counts the bodies without a finished run and the finished runs beyond
// the first of a body.
func (l *ledger) tally(bodies []string) (lost, extra int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, body := range bodies {
		finished := 0
		for _, r := range l.started[body] {
			if r.finished {
				finished++
			}
		}
		if finished == 0 {
			lost++
		}
		extra += max(0, finished-1)
	}
	return lost, extra
}

// wantRuns wants every body to have had n runs, of which one finished, and no
// two of them at once.
func (l *ledger) wantRuns(t testing.TB, n int, bodies ...string) {
	t.Helper()
	if lost, extra := l.tally(bodies); lost > 0 || extra > 0 {
		t.Errorf("got lost=%d extra=%d, want 0 and 0", lost, extra)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, body := range bodies {
		if got := len(l.started[body]); got != n {
			t.Errorf("%.40s: got %d runs, want %d", body, got, n)
		}
	}
	if len(l.overlaps) > 0 {
		t.Errorf("two runs at once of %.200q", l.overlaps)
	}
}
