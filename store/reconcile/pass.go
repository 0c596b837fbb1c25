package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// enough failures in a row end a pass: the store or the broker is down, and
// every other record would take its time to fail, too.
const enough = 3

// pass is one walk over the overdue records in the making.
type pass struct {
	*Reconciler
	stats Stats
	inRow int // failures
}

func (r *Reconciler) pass(ctx context.Context) Stats {
	p := &pass{Reconciler: r, stats: Stats{Passes: 1}}
	for room := int64(r.options.PerPass - r.options.Batch); p.stats.Found <= room && ctx.Err() == nil; {
		page, err := r.page(ctx)
		if err != nil {
			p.fail(ctx, fmt.Errorf("reconcile: scan: %w", err))
			break
		}
		p.records(ctx, page.Records)
		if r.after == "" || p.inRow >= enough {
			break
		}
	}
	p.stats.LastPass = time.Now()
	r.tell(ctx, r.count(p.stats), p.stats)
	return p.stats
}

// page reads the page where the one before ended.
func (r *Reconciler) page(ctx context.Context) (store.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	page, err := r.store.Scan(ctx, store.Query{
		Application: r.options.Application, Status: store.StatusLapsed, Overdue: r.options.Overdue,
		After: r.after, Limit: r.options.Batch,
	})
	if err == nil || errors.Is(err, store.ErrInvalid) { // the place is of a store that has been replaced
		r.after = page.Next
	}
	return page, err
}

// records takes the records of a page in any order, so that several reconcilers
// seldom meet, and that none is always behind others that fail.
func (p *pass) records(ctx context.Context, found []store.Record) {
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	for i := range found {
		if ctx.Err() != nil || p.inRow >= enough {
			return
		}
		p.stats.Found++
		if err := p.record(ctx, &found[i]); err != nil {
			p.fail(ctx, fmt.Errorf("reconcile: %v: %w", found[i].Key, err))
			continue
		}
		p.inRow = 0
	}
}

func (p *pass) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // it was cut short, which tells nothing
	}
	p.stats.Failed++
	p.stats.Err = err
	if store.ClassOf(err) != store.Permanent {
		p.inRow++
	}
}

// record brings one record as far as it can be brought.
func (p *pass) record(ctx context.Context, rec *store.Record) error {
	switch {
	case rec.Hashed:
		p.leave(ctx, rec, &p.stats.Unknown, errors.New("the key is known by a digest only"))
		return nil
	case rec.Attempt < 1: // nothing can have happened, and a claim would only prolong the record's life
		p.stats.Skipped++
		return nil
	}
	c := claim{pass: p, seen: rec, token: store.NewToken()}
	ours, err := c.take(ctx)
	if err != nil {
		return err
	}
	if !ours {
		p.stats.Skipped++
		return nil
	}
	finding, reason := p.verify(ctx, rec.Key)
	switch finding {
	case Happened:
		return c.complete(ctx)
	case NotHappened:
		return c.again(ctx)
	}
	if err := c.release(ctx); err != nil {
		return fmt.Errorf("%w, and unknown before that: %w", err, reason)
	}
	if ctx.Err() == nil { // else the Verifier was cut short
		p.leave(ctx, rec, &p.stats.Unknown, reason)
	}
	return nil
}
