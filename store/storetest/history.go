package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var historyCases = []Case{{
	Name:     "concurrent calls look as if they had happened one after the other",
	Sentence: 1,
	Why:      "two steps of one call with another call between them is where every double run begins",
	run: func(x *trial) {
		x.histories(&Faults{Lagging: 0.5})
	},
}, {
	Name:     "concurrent calls with lost replies and repeats look as if they had happened one after the other",
	Sentence: 2,
	Why:      "a call whose reply was lost may have been applied: at the time, a moment later, or never, but never twice",
	run: func(x *trial) {
		x.histories(&Faults{Lagging: 0.4, Before: 0.05, After: 0.15})
	},
}}

const (
	historyClients = 5
	historyKeys    = 4
	historyTurns   = 6 // per client; a turn is a claim and what follows from it
	historyRepeats = 3 // of a call without an answer
)

// histories records random histories and checks each against the model. Leases
// are long: what a lapse does is the matter of other cases.
func (x *trial) histories(f *Faults) {
	rounds := 6
	if x.h.FakeTime {
		rounds = 30
	}
	for seed := range rounds {
		if x.err != nil {
			return
		}
		faults := Faults{Seed: uint64(seed), Lagging: f.Lagging, Before: f.Before, After: f.After, Delay: x.pause()}
		h := &history{x: x, store: Flaky(x.store, &faults), seed: uint64(seed)}
		operations := h.record()
		if x.failed(fmt.Sprintf("history with seed %d", seed), h.err) {
			return
		}
		for _, part := range partition(operations) {
			if porcupine.CheckOperationsTimeout(historyModel, part, 10*time.Second) == porcupine.Illegal {
				x.failf("history with seed %d: no order of these calls explains the answers%s", seed, describe(part))
			}
		}
	}
}

// pause is the longest that a client of a history waits between two steps.
func (x *trial) pause() time.Duration {
	if x.h.FakeTime {
		return x.h.Unit
	}
	return time.Millisecond
}

// history is what several clients did to a few keys, and what they were told.
type history struct {
	x      *trial
	store  store.Store
	seed   uint64
	keys   [historyKeys]store.Key
	clock  atomic.Int64 // orders calls and answers
	tokens atomic.Int64 // numbers the tokens

	mu         sync.Mutex // guards what follows
	operations []porcupine.Operation
	err        error
}

func (h *history) record() []porcupine.Operation {
	for i := range h.keys {
		h.keys[i] = h.x.key(fmt.Sprintf("history %d.%d", h.seed, i))
	}
	var clients sync.WaitGroup
	for id := range historyClients {
		clients.Go(func() {
			c := &client{history: h, id: id, random: rand.New(rand.NewPCG(h.seed, uint64(id+1)))}
			for range historyTurns {
				c.turn()
			}
		})
	}
	clients.Wait()
	return h.operations
}

// do makes one call and writes it down. It reports whether there was an answer.
func (h *history) do(client int, in call, send func(store.Key) (answer, error)) (answer, bool) {
	began := h.clock.Add(1)
	out, err := send(h.keys[in.key])
	ended := h.clock.Add(1)

	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
	case errors.Is(err, store.ErrNotOwner):
		out.refused = true
	case errors.Is(err, ErrCutBefore):
		return out, false
	case errors.Is(err, ErrCutAfter):
		// It may take effect at any later time. Taking effect after everything
		// else is the same as never.
		out, ended = answer{lost: true}, 1<<62
	case h.err == nil:
		h.err = fmt.Errorf("%v: unexpected error %w", in, err)
	}
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: client, Input: in, Call: began, Output: out, Return: ended,
	})
	return out, !out.lost
}
