package listenertest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// errDown is what a process that has died gets from its store, and a complete that
// is refused. The listener repeats nothing that fails like this, so nothing waits.
var errDown = fmt.Errorf("listenertest: %w: nothing reaches the store", store.ErrInvalid)

// records are a store as one process sees it: faults happen here, a dead process
// does not get through, and what it has claimed is known.
type records struct {
	process *process
	s       Records
}

var _ Records = records{}

func (y records) Claim(ctx context.Context, q store.ClaimRequest) (v store.Verdict, err error) {
	fault := y.claiming(ctx, func() bool {
		v, err = y.s.Claim(ctx, q)
		return y.granted(q, v, err)
	})
	if fault != nil {
		return store.Verdict{}, fault
	}
	return v, err
}

func (y records) ClaimBatch(ctx context.Context, requests []store.ClaimRequest) (answers []store.ClaimAnswer) {
	fault := y.claiming(ctx, func() (granted bool) {
		answers = y.s.ClaimBatch(ctx, requests)
		for i, a := range answers {
			granted = y.granted(requests[i], a.Verdict, a.Err) || granted
		}
		return granted
	})
	if fault != nil {
		return slices.Repeat([]store.ClaimAnswer{{Err: fault}}, len(requests))
	}
	return answers
}

func (y records) Complete(ctx context.Context, k store.Key, t store.Token,
	keep time.Duration) (c store.Completion, err error) {
	if fault := y.completing(ctx, func() { c, err = y.s.Complete(ctx, k, t, keep) }); fault != nil {
		return 0, fault
	}
	return c, err
}

func (y records) SettleBatch(ctx context.Context, settlements []store.Settlement) (answers []store.SettleAnswer) {
	call := y.pass
	if slices.ContainsFunc(settlements, func(s store.Settlement) bool { return s.Keep > 0 }) {
		call = y.completing
	}
	if fault := call(ctx, func() { answers = y.s.SettleBatch(ctx, settlements) }); fault != nil {
		return slices.Repeat([]store.SettleAnswer{{Err: fault}}, len(settlements))
	}
	return answers
}

func (y records) Release(ctx context.Context, k store.Key, t store.Token, ran bool) (err error) {
	if fault := y.pass(ctx, func() { err = y.s.Release(ctx, k, t, ran) }); fault != nil {
		return fault
	}
	return err
}

func (y records) Park(ctx context.Context, k store.Key, t store.Token, keep time.Duration) (err error) {
	if fault := y.pass(ctx, func() { err = y.s.Park(ctx, k, t, keep) }); fault != nil {
		return fault
	}
	return err
}

func (y records) Renew(ctx context.Context, claims []store.Claim) (errs []error) {
	if fault := y.pass(ctx, func() { errs = y.s.Renew(ctx, claims) }); fault != nil {
		return slices.Repeat([]error{fault}, len(claims))
	}
	return errs
}

func (y records) Fence(ctx context.Context, k store.Key, t store.Token) (n int64, err error) {
	if fault := y.pass(ctx, func() { n, err = y.s.Fence(ctx, k, t) }); fault != nil {
		return 0, fault
	}
	return n, err
}

// pass lets a living process through.
func (y records) pass(_ context.Context, do func()) error {
	if y.process.crashed() {
		return errDown
	}
	do()
	return nil
}

// claiming is a call that is a place of faults if it grants something.
func (y records) claiming(ctx context.Context, do func() (granted bool)) error {
	if y.process.crashed() {
		return errDown
	}
	if !do() {
		return nil
	}
	return y.afterwards(ctx, claim, y.process.run.reach(place{step: claim}))
}

// completing is a call that is always a place of faults.
func (y records) completing(ctx context.Context, do func()) error {
	if y.process.crashed() {
		return errDown
	}
	r := y.process.run
	t, fault := r.turnOf(ctx), r.reach(place{step: complete})
	switch fault {
	case CrashBefore:
		t.die()
		return errDown
	case Refused:
		t.note("complete refused")
		r.unrecorded = true
		return errDown
	case LeaseLost:
		r.overtake(ctx, t, false)
	}
	do()
	return y.afterwards(ctx, complete, fault)
}

// afterwards is what becomes of the reply of a call that has been applied.
func (y records) afterwards(ctx context.Context, op string, fault Fault) error {
	t := y.process.run.turnOf(ctx)
	switch fault {
	case CrashAfter:
		t.die()
		return errDown
	case ReplyLost:
		t.note("reply lost")
		return &store.Error{Driver: "listenertest", Op: op, Class: store.Unknown, Err: ErrReplyLost}
	}
	return nil
}

func (y records) granted(q store.ClaimRequest, v store.Verdict, err error) bool {
	if err != nil || v.State != store.Claimed {
		return false
	}
	y.process.run.mu.Lock()
	defer y.process.run.mu.Unlock()
	y.process.claims = append(y.process.claims, store.Claim{Key: q.Key, Token: q.Token})
	return true
}
