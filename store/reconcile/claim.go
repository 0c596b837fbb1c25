package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// claim is one record under a token of its own.
type claim struct {
	*pass
	seen  *store.Record // as the scan has shown it
	token store.Token
}

// take claims the record if nobody has been at it since the scan.
func (c *claim) take(ctx context.Context) (bool, error) {
	v, err := c.ask(ctx)
	switch {
	case err != nil:
		if store.ClassOf(err) == store.Unknown {
			_ = c.release(ctx) // what cannot be given back either lapses
		}
		return false, fmt.Errorf("claim: %w", err)
	case v.State == store.Done, v.State == store.Parked:
		c.known.forget(c.seen.Key)
		return false, nil
	case v.State != store.Claimed:
		return false, nil
	}
	// A run since then was counted. Another reconciler gave its attempt back, but
	// drew a fence before.
	unchanged, err := false, error(nil)
	if v.Attempt == c.seen.Attempt+1 {
		unchanged, err = c.mark(ctx)
	}
	if err != nil || !unchanged {
		return false, errors.Join(err, c.release(ctx))
	}
	return true, nil
}

func (c *claim) ask(ctx context.Context) (store.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	return c.store.Claim(ctx, store.ClaimRequest{
		Key: c.seen.Key, Token: c.token, Lease: c.options.Lease, Horizon: max(c.seen.Horizon, store.MinDuration),
	})
}

// mark draws a fence if nobody has drawn one since the scan.
func (c *claim) mark(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	now, err := c.store.Get(ctx, c.seen.Key)
	if err != nil {
		return false, fmt.Errorf("get: %w", err)
	}
	if now.Fence != c.seen.Fence {
		return false, nil
	}
	_, err = c.store.Fence(ctx, c.seen.Key, c.token)
	switch {
	case errors.Is(err, store.ErrNotOwner): // the lease is over already
		return false, nil
	case err != nil:
		return false, fmt.Errorf("fence: %w", err)
	}
	return true, nil
}

// complete records that the effect is there, although ctx has ended.
func (c *claim) complete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.Timeout)
	defer cancel()
	if _, err := c.store.Complete(ctx, c.seen.Key, c.token, c.options.Keep); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	c.known.forget(c.seen.Key)
	c.stats.Completed++
	return nil
}

// release gives the claim and its attempt back, although ctx has ended. That
// somebody else has the key by now is no error.
func (c *claim) release(ctx context.Context) error {
	if err := c.giveBack(ctx); err != nil && !errors.Is(err, store.ErrNotOwner) {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

func (c *claim) giveBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.Timeout)
	defer cancel()
	return c.store.Release(ctx, c.seen.Key, c.token, false)
}

// again gives the claim back and then asks for another run, which would find the
// key busy the other way round. Whoever dies between the two leaves a claim that
// is overdue again later.
func (c *claim) again(ctx context.Context) error {
	err := c.giveBack(ctx)
	switch {
	case errors.Is(err, store.ErrNotOwner): // the lease was over, and another run has begun
		c.stats.Skipped++
		return nil
	case err != nil:
		return fmt.Errorf("release: %w", err)
	case ctx.Err() != nil:
		return nil
	}
	n := c.known.of(c.seen, c.options.Lease)
	if n.retries >= c.options.RetryAgain {
		c.leave(ctx, c.seen, &c.stats.GivenUp, fmt.Errorf("it has not happened after %d retries", n.retries))
		return nil
	}
	if err := c.retry(ctx, c.seen.Key); err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	n.retries++
	c.stats.Retried++
	return nil
}
