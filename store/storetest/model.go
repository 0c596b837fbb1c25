package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// call and answer are one operation of a history. Keys and tokens are numbers.
type (
	call struct {
		op         Op
		key, token int
		ran        bool
	}
	answer struct {
		lost       bool // no answer: anything may have happened
		refused    bool // ErrNotOwner
		state      store.State
		attempt    int
		completion store.Completion
	}
)

// modelState is the record of the key.
type modelState struct {
	state   string // "", "in flight", "released" or "done"
	token   int
	attempt int
	done    uint64 // the set of tokens that completed
}

// historyModel is the contract for one key while no time passes.
var historyModel = porcupine.Model{
	Init: func() any { return modelState{} },
	Step: func(s, in, out any) (bool, any) {
		next, want := s.(modelState).apply(in.(call))
		return want(out.(answer)), next
	},
}

// partition splits a history by key.
func partition(history []porcupine.Operation) [][]porcupine.Operation {
	parts := make([][]porcupine.Operation, historyKeys)
	for _, o := range history {
		k := o.Input.(call).key
		parts[k] = append(parts[k], o)
	}
	return parts
}

// apply returns the record after the call, and judges the answer to it.
func (m modelState) apply(c call) (modelState, func(answer) bool) {
	owned := m.state == "in flight" && m.token == c.token
	repeat := m.state == "released" && m.token == c.token
	switch {
	case c.op == Complete:
		return m.complete(c.token, owned)
	case c.op == Claim && repeat:
		return m, exactly(answer{refused: true})
	case c.op == Claim && m.state == "done":
		return m, exactly(answer{state: store.Done})
	case c.op == Claim && m.state == "in flight" && !owned:
		return m, exactly(answer{state: store.Busy})
	case c.op == Claim:
		if !owned {
			m.attempt++
		}
		m.state, m.token = "in flight", c.token
		return m, exactly(answer{state: store.Claimed, attempt: m.attempt})
	case c.op == Release && owned:
		m.state = "released"
		if !c.ran {
			m.attempt--
		}
		return m, exactly(answer{})
	case c.op == Release && repeat, c.op == Renew && owned:
		return m, exactly(answer{})
	}
	return m, exactly(answer{refused: true})
}

func (m modelState) complete(token int, owned bool) (modelState, func(answer) bool) {
	before, bit := m, uint64(1)<<token
	m.state, m.done = "done", m.done|bit
	return m, func(got answer) bool {
		mine, others := before.done&bit != 0, before.done&^bit != 0
		switch got.completion {
		case store.Completed:
			return owned || mine
		case store.AlreadyDone:
			return others
		case store.Late:
			return before.state == "released" || before.state == "in flight" && !owned
		case store.Recreated:
			return before.state == ""
		}
		return got.lost
	}
}

func exactly(want answer) func(answer) bool {
	return func(got answer) bool { return got.lost || got == want }
}

// describe lists the calls of a history in the order of their beginning.
func describe(history []porcupine.Operation) string {
	var b strings.Builder
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, o := range history {
		fmt.Fprintf(&b, "\n\tclient %d, %d to %d: %v -> %v", o.ClientId, o.Call, o.Return, o.Input, o.Output)
	}
	return b.String()
}

// String is the call in words.
func (c call) String() string {
	if c.op == Release {
		return fmt.Sprintf("%s by token %d (ran %v)", c.op, c.token, c.ran)
	}
	return fmt.Sprintf("%s by token %d", c.op, c.token)
}

// String is the answer in words.
func (a answer) String() string {
	switch {
	case a.lost:
		return "no answer"
	case a.refused:
		return "not owner"
	case a.completion != 0:
		return a.completion.String()
	case a.state == store.Claimed:
		return fmt.Sprintf("claimed, attempt %d", a.attempt)
	case a.state != 0:
		return a.state.String()
	}
	return "ok"
}
