package listener_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// sailorEnv is the environment variable that makes the test binary a consumer of
// a fleet: its sailorTask as JSON.
const sailorEnv = "LISTENER_TEST_SAILOR"

type sailorTask struct {
	Place  place
	Diary  string // path
	Number int
}

// sailor is that consumer.
type sailor struct {
	sailorTask
	diary    diary
	runs     atomic.Int64
	bookings atomic.Int64
}

// beSailor consumes until its standard input ends, and then drains and leaves.
func beSailor(task string) {
	s := &sailor{}
	err := json.Unmarshal([]byte(task), &s.sailorTask)
	if err == nil {
		err = s.serve()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "process %d: %v\n", s.Number, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (s *sailor) serve() (err error) {
	if s.diary, err = openDiary(s.Diary); err != nil {
		return err
	}
	join := s.join
	if s.Place.Next != "" {
		join = s.joinChain
	}
	leave, err := join()
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that matters
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	return leave(ctx)
}

// join joins the group and returns how to leave it.
func (s *sailor) join() (leave func(context.Context) error, err error) {
	records, err := s.Place.openRecords()
	if err != nil {
		return nil, err
	}
	everything := consumer.MessageSelector{}
	if s.Place.Transact { // a claim is no more than a part of the transaction
		return s.enlist(s.Place, records, s, func(m *member) error {
			return m.SubscribeTx(m.client, s.Place.Topic, everything, s.book)
		})
	}
	return s.enlist(s.Place, witness{records, s}, s, func(m *member) error {
		return m.Subscribe(m.client, s.Place.Topic, everything, s.handle)
	})
}

// enlist adds the process to the group at p.
func (s *sailor) enlist(
	p place, records store.Store, o dedup.Observer, subscribe func(*member) error,
) (leave func(context.Context) error, err error) {
	m, err := newMember(p, fmt.Sprintf("process%d", s.Number), records,
		listener.Options{BatchSize: 32, Guard: dedup.Options{Observer: o}}, subscribe,
		consumer.WithConsumeGoroutineNums(8))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return m.Shutdown(ctx, m.client) }, nil
}

func (s *sailor) note(kind byte, run int, key string) {
	s.diary.write(note{kind: kind, process: s.Number, run: run, key: key})
}

// handle does as told by chance, and heeds its context.
func (s *sailor) handle(ctx context.Context, m *primitive.MessageExt) error {
	return s.run(m, func() error { return taking(usual())(ctx, m) })
}

// run notes a run, and fails some of them at their end.
func (s *sailor) run(m *primitive.MessageExt, work func() error) error {
	run, key := int(s.runs.Add(1)), string(m.Body)
	s.note(runBegan, run, key)
	err := work()
	if err == nil && rand.IntN(500) == 0 {
		err = errBoom
	}
	if err != nil {
		s.note(runFailed, run, key)
		return err
	}
	s.note(runEnded, run, key)
	return nil
}

// usual is how long a callback takes. Few need many renewals of their lease.
func usual() time.Duration {
	switch n := rand.IntN(1000); {
	case n < 3:
		return lease + rand.N(lease)
	case n < 30:
		return 20*time.Millisecond + rand.N(200*time.Millisecond)
	}
	return rand.N(2 * time.Millisecond)
}

// Observe notes what became of a delivery.
func (s *sailor) Observe(_ context.Context, e dedup.Event) {
	kind := byte(deferred)
	switch {
	case e.Outcome == dedup.Ran && e.Unrecorded:
		kind = unrecorded
	case e.Outcome == dedup.Ran:
		kind = recorded
	case e.Outcome == dedup.Skipped:
		kind = skipped
	case e.Outcome == dedup.Failed:
		return // its run has told
	}
	s.note(kind, 0, e.Key.ID)
}

// witness is a store that notes the claims it grants.
type witness struct {
	ableStore
	sailor *sailor
}

// Claim is that of the store.
func (w witness) Claim(ctx context.Context, r store.ClaimRequest) (store.Verdict, error) {
	at := time.Now()
	v, err := w.ableStore.Claim(ctx, r)
	w.note(at, r, store.ClaimAnswer{Verdict: v, Err: err})
	return v, err
}

// ClaimBatch is that of the store.
func (w witness) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) []store.ClaimAnswer {
	at := time.Now()
	answers := w.ableStore.ClaimBatch(ctx, requests)
	for i, answer := range answers {
		w.note(at, requests[i], answer)
	}
	return answers
}

func (w witness) note(sent time.Time, r store.ClaimRequest, a store.ClaimAnswer) {
	if a.Err == nil && a.Verdict.State == store.Claimed {
		w.sailor.diary.write(note{kind: granted, process: w.sailor.Number, key: r.Key.ID, at: sent})
	}
}
