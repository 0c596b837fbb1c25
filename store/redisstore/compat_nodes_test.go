package redisstore_test

import (
	"errors"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// theirNode is a node of the original. It does not know when its claim ends.
type theirNode struct {
	original
	state string // "", "refused" or "running"
	until time.Time
}

func (n *theirNode) turn(f *fleet) {
	switch n.state {
	case "":
		n.claims(f)
	case "refused":
		n.looks(f)
	case "running":
		if f.random.IntN(3) == 0 {
			n.ends(f)
		}
	}
}

func (n *theirNode) claims(f *fleet) {
	n.state = "refused"
	sent := time.Now()
	free, err := n.claim(f.t.Context(), f.name)
	if err != nil {
		f.errorf("%v", err)
	}
	if !free {
		return
	}
	b := &f.book
	switch {
	case live(b.theirs), !b.exposed && (live(b.ours) || b.done || b.parked):
		f.errorf("the original was granted the key although %+v", *b)
	case !b.ours.IsZero():
		f.happened("their take-over")
	}
	f.happened("their claim")
	n.state, n.until = "running", sent.Add(n.expire)
	b.theirs, b.theirsEnd = n.until, f.client.PExpireTime(f.t.Context(), f.name).Val()
}

func (n *theirNode) looks(f *fleet) {
	n.state, n.until = "", time.Time{}
	word, err := n.look(f.t.Context(), f.name)
	switch {
	case err != nil:
		f.errorf("%v", err)
	case word == "CONSUMED":
		if f.happened("their done"); !f.book.done {
			f.errorf("the original skips what nobody has done")
		}
	case word == "CONSUMING":
		f.happened("their busy")
	default: // the record ended between the two commands: it runs without a claim
		n.state = "running"
	}
}

func (n *theirNode) ends(f *fleet) {
	n.state = ""
	late, b := "", &f.book
	if !live(n.until) || n.until != b.theirs {
		late = "late "
	}
	if f.random.IntN(6) == 0 {
		f.happened("their " + late + "success")
		if err := n.succeeded(f.t.Context(), f.name); err != nil {
			f.errorf("%v", err)
		}
		b.done, b.exposed, b.ours, b.theirs = true, false, time.Time{}, time.Time{}
		return
	}
	f.happened("their " + late + "failure")
	if err := n.failed(f.t.Context(), f.name); err != nil {
		f.errorf("%v", err)
	}
	b.exposed, b.theirs = true, time.Time{}
	b.done = b.done && b.doneByUs
}

// ourNode is one of ours. It may be late, and it may crash.
type ourNode struct {
	token   store.Token
	running bool
}

func (n *ourNode) turn(f *fleet) {
	if !n.running {
		n.claims(f)
		return
	}
	settle := func(do func() error) {
		n.running = false
		n.acts(f, do)
	}
	ctx := f.t.Context()
	switch p := f.random.IntN(20); {
	case p < 5:
		n.renews(f)
	case p < 9:
		settle(func() error {
			err := f.store.Release(ctx, f.key, n.token, true)
			if err == nil {
				f.happened("our release")
				f.book.ours = time.Time{}
			}
			return err
		})
	case p < 10:
		settle(func() error {
			err := f.store.Park(ctx, f.key, n.token, time.Minute)
			if err == nil {
				f.happened("our park")
				f.book.parked, f.book.exposed, f.book.ours = true, false, time.Time{}
			}
			return err
		})
	case p < 11:
		n.completes(f)
	case p < 12:
		n.running = false // a crash: the claim stays
	}
}

func (n *ourNode) claims(f *fleet) {
	n.token = store.NewToken()
	sent := time.Now()
	v, err := f.store.Claim(f.t.Context(), store.ClaimRequest{
		Key: f.key, Token: n.token, Lease: fleetLease, Horizon: fleetHorizon,
	})
	b := &f.book
	switch {
	case err != nil:
		f.errorf("claim: %v", err)
	case v.State == store.Claimed:
		n.running = true
		f.happened("our claim")
		if v.Attempt > 1 {
			f.happened("our take-over")
		}
		if live(b.ours) || live(b.theirs) || b.done || b.parked {
			f.errorf("we were granted the key although %+v", *b)
		}
		b.ours, b.exposed = sent.Add(fleetLease), false
	case v.State == store.Busy:
		f.happened("our busy")
	case v.State == store.Done:
		if f.happened("our done"); !b.done {
			f.errorf("we skip what nobody has done")
		}
	case v.State != store.Parked || !b.parked:
		f.errorf("claim: got %+v although %+v", v, *b)
	}
}

func (n *ourNode) renews(f *fleet) {
	sent := time.Now()
	n.acts(f, func() error {
		err := f.store.Renew(f.t.Context(), []store.Claim{{Key: f.key, Token: n.token}})[0]
		if err == nil {
			f.happened("our renewal")
			f.book.ours, f.book.exposed = sent.Add(fleetLease), false
			return nil
		}
		n.running = false
		return err
	})
}

// acts wants a step that only an owner may take to leave the original's claim
// alone.
func (n *ourNode) acts(f *fleet, step func() error) {
	ctx := f.t.Context()
	before := f.client.PExpireTime(ctx, f.name).Val()
	err := step()
	switch {
	case errors.Is(err, store.ErrNotOwner):
		f.happened("our claim lost")
	case err != nil:
		f.errorf("%v", err)
	}
	after := f.client.PExpireTime(ctx, f.name).Val()
	if before != f.book.theirsEnd || !live(f.book.theirs) {
		return
	}
	f.happened("our step met their claim")
	if after != before {
		f.errorf("a step of ours moved the end of the original's claim from %v to %v", before, after)
	}
	if err == nil {
		f.errorf("a step of ours was taken although the original holds the key")
	}
}

func (n *ourNode) completes(f *fleet) {
	n.running = false
	c, err := f.store.Complete(f.t.Context(), f.key, n.token, time.Minute)
	if err != nil {
		f.errorf("complete: %v", err)
	}
	f.happened("our complete")
	if c == store.Late {
		f.happened("our late complete")
	}
	if word := f.client.Get(f.t.Context(), f.name).Val(); word != "CONSUMED" {
		f.errorf("after our complete: got %q", word)
	}
	f.book = book{done: true, doneByUs: true}
}
