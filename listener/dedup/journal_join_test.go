package dedup_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestTheJournalForgetsWhatTheStoreWould(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		l.set(true)
		p := dedup.Policy{Outage: dedup.OutageRun, Keep: time.Minute}
		b.Deliver(t.Context(), dedup.Delivery{Key: key("1"), Policy: p}, succeed)
		time.Sleep(61 * time.Second)
	})
}

func TestASuccessThatMeetsOthersInTheJournalJoinsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		var both sync.WaitGroup
		for i, held := range []time.Duration{time.Second, 10 * time.Second} {
			both.Go(func() { b.Deliver(t.Context(), dedup.Delivery{Key: key(strconv.Itoa(i))}, holdFor(held)) })
		}
		time.AfterFunc(500*time.Millisecond, func() { l.goAway(time.Minute) })
		time.Sleep(10*time.Second + 100*time.Millisecond)
		if got := b.Stats().Journal; got != 2 {
			t.Errorf("journal: got %d, want 2: it is known that the store is away", got)
		}
		both.Wait()
	})
}

func TestTwoSuccessesOfOneKeyAreOneInTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		l.goAway(time.Minute)
		var both sync.WaitGroup
		for range 2 {
			d := dedup.Delivery{Key: key("1"), Policy: dedup.Policy{Outage: dedup.OutageRun}}
			both.Go(func() { want(t, b.Deliver(t.Context(), d, holdFor(time.Second)), dedup.Ran, storetest.ErrCutBefore) })
		}
		both.Wait()
		if got := b.Stats().Journal; got != 1 {
			t.Errorf("journal: got %d, want 1", got)
		}
		time.Sleep(time.Minute)
	})
}

func TestAHeldCopyOfAnUnrecordedSuccessIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLossy(t, losses["refused"])
		d := dedup.Delivery{Key: key("1"), Policy: dedup.Policy{HoldLimit: 10 * time.Second, Lease: time.Minute}}
		var copies sync.WaitGroup
		r := b.Deliver(t.Context(), d, func(context.Context) error {
			l.goAway(time.Hour)
			copies.Go(func() { want(t, b.Deliver(t.Context(), d, mustNotRun(t)), dedup.Skipped, nil) })
			time.Sleep(2 * time.Second)
			return nil
		})
		want(t, r, dedup.Ran, storetest.ErrCutBefore)
		copies.Wait()
		l.set(false)
		time.Sleep(time.Second)
	})
}
