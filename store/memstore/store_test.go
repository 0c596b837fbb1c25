package memstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func TestNewNamesTheOptionThatIsOutOfBounds(t *testing.T) {
	_, err := memstore.New(memstore.Options{MaxRecords: -1})
	if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "MaxRecords is -1") {
		t.Errorf("got %v, want an invalid MaxRecords", err)
	}
}

func TestAFullStoreRefusesNewKeysUntilOneExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, memstore.Options{MaxRecords: 2})
		claim(t, s, request("1"), store.Claimed)
		claim(t, s, request("2"), store.Claimed)

		v, err := s.Claim(t.Context(), request("3"))
		var failed *store.Error
		if v.State != 0 || !errors.As(err, &failed) || failed.Class != store.NotApplied {
			t.Errorf("claim on a new key: got %v, %v; want an error of class not applied", v.State, err)
		}
		claim(t, s, request("1"), store.Busy)
		complete(t, s, request("4"))
		claim(t, s, request("4"), store.Done)

		time.Sleep(leaseTime + horizonTime)
		claim(t, s, request("1"), store.Claimed)
		if got := s.Len(); got != 2 {
			t.Errorf("got %d records after two expired, want the new one and the one that is done", got)
		}
	})
}

func TestWritesRemoveWhatExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, memstore.Options{})
		random := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			r := request(strconv.Itoa(random.IntN(200)))
			v, err := s.Claim(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case v.State != store.Claimed:
			case random.IntN(3) == 0:
				complete(t, s, r)
			case random.IntN(2) == 0:
				err = s.Release(t.Context(), r.Key, r.Token, true)
			case random.IntN(4) == 0:
				err = s.Park(t.Context(), r.Key, r.Token, keepTime)
			}
			if err = errors.Join(err, s.CheckQueues()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(random.IntN(int(10 * time.Minute))))
		}
		time.Sleep(2 * keepTime)
		before := s.Len()
		for i := range before {
			claim(t, s, request("new "+strconv.Itoa(i)), store.Claimed)
		}
		if got := s.Len(); before == 0 || got != before {
			t.Errorf("got %d records after %d had expired and %d were added, want %d", got, before, before, before)
		}
	})
}

func TestARecordDoesNotKeepTheMessageAlive(t *testing.T) {
	s := newStore(t, memstore.Options{})
	before := heapBytes()
	for i := range 100 {
		body := strings.Repeat(strconv.Itoa(i%10), 1<<20)
		r := request(body[:100+i])
		r.Key.Topic, r.Key.Tag = body[100:107], body[200:203]
		complete(t, s, r)
	}
	if grown := heapBytes() - before; grown > 10<<20 {
		t.Errorf("100 records cut out of messages of 1 MB hold %d bytes, want less than 10 MB", grown)
	}
	if got := s.Len(); got != 100 {
		t.Errorf("got %d records, want 100", got)
	}
}

func TestFailuresNameDriverOperationAndClass(t *testing.T) {
	s := newStore(t, memstore.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := request("1")
	_, claimErr := s.Claim(ctx, r)
	_, completeErr := s.Complete(ctx, r.Key, r.Token, keepTime)
	_, fenceErr := s.Fence(ctx, r.Key, r.Token)
	_, pulseErr := s.Pulse(ctx, store.Pulse{Application: "billing", Node: r.Token, Number: 1})
	_, getErr := s.Get(ctx, r.Key)
	_, scanErr := s.Scan(ctx, store.Query{Limit: 1})
	_, sweepErr := s.Sweep(ctx, 1)
	for op, err := range map[string]error{
		"get": getErr, "scan": scanErr, "sweep": sweepErr, "forget": s.Forget(ctx, r.Key),
		"claim": claimErr, "complete": completeErr, "fence": fenceErr,
		"release": s.Release(ctx, r.Key, r.Token, true),
		"park":    s.Park(ctx, r.Key, r.Token, keepTime),
		"renew":   s.Renew(ctx, []store.Claim{{Key: r.Key, Token: r.Token}})[0],
		"pulse":   pulseErr,
	} {
		want := "memstore: " + op + ": context canceled (not applied)"
		if err == nil || err.Error() != want || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %s", op, err, want)
		}
	}
	if got := s.Len(); got != 0 {
		t.Errorf("got %d records after failed calls, want 0", got)
	}
}

func TestPulsesOfNodesThatHaveGoneAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, memstore.Options{})
		for range 10 {
			for range 10 {
				p := store.Pulse{Application: "billing", Node: store.NewToken(), Number: 1}
				if _, err := s.Pulse(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(store.PulseKeep / 2)
		}
		if got := s.Pulses(); got != 20 {
			t.Errorf("got the pulses of %d nodes, want those of the 20 that were there within PulseKeep", got)
		}
	})
}
