package storetest

import (
	"math/rand/v2"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// client makes random calls, one at a time, within the contract: it never
// claims again with a token it has released, and repeats only with the same one.
type client struct {
	*history
	id     int
	random *rand.Rand
	last   owner // of an earlier turn, to act with as a stale owner
}

type owner struct {
	number int
	token  store.Token
	key    int
}

// turn claims a key, then acts on the answer.
func (c *client) turn() {
	c.pause()
	o := owner{int(c.tokens.Add(1)), store.NewToken(), c.random.IntN(historyKeys)}
	got, answered := c.repeat(func() (answer, bool) { return c.claim(o) })
	switch {
	case !answered:
	case got.state == store.Claimed:
		c.pause()
		c.settle(o)
	case c.last.number != 0:
		c.settle(c.last) // whatever it is by now
	}
	c.last = o
}

// settle is what an owner does next, or does too late.
func (c *client) settle(o owner) {
	_, renews := c.x.store.(store.Renewer)
	if renews && c.random.IntN(2) == 0 {
		c.repeat(func() (answer, bool) { return c.renew(o) })
		c.pause()
	}
	switch p := c.random.Float64(); {
	case p < 0.6:
		ran := c.random.IntN(2) == 0
		c.repeat(func() (answer, bool) { return c.release(o, ran) })
	case p < 0.7:
		c.repeat(func() (answer, bool) { return c.complete(o) })
	}
}

// repeat makes a call again until there is an answer.
func (c *client) repeat(do func() (answer, bool)) (answer, bool) {
	for range historyRepeats {
		if got, answered := do(); answered {
			return got, true
		}
	}
	return answer{}, false
}

// pause makes the calls of different clients meet in ever new ways.
func (c *client) pause() {
	time.Sleep(time.Duration(c.random.Int64N(int64(c.x.pause()))))
}

func (c *client) claim(o owner) (answer, bool) {
	return c.do(c.id, call{Claim, o.key, o.number, false}, func(k store.Key) (answer, error) {
		v, err := c.store.Claim(c.x.ctx, c.x.request(k, o.token))
		return answer{state: v.State, attempt: v.Attempt}, err
	})
}

func (c *client) complete(o owner) (answer, bool) {
	return c.do(c.id, call{Complete, o.key, o.number, false}, func(k store.Key) (answer, error) {
		found, err := c.store.Complete(c.x.ctx, k, o.token, long)
		return answer{completion: found}, err
	})
}

func (c *client) release(o owner, ran bool) (answer, bool) {
	return c.do(c.id, call{Release, o.key, o.number, ran}, func(k store.Key) (answer, error) {
		return answer{}, c.store.Release(c.x.ctx, k, o.token, ran)
	})
}

func (c *client) renew(o owner) (answer, bool) {
	return c.do(c.id, call{Renew, o.key, o.number, false}, func(k store.Key) (answer, error) {
		return answer{}, c.store.(store.Renewer).Renew(c.x.ctx, []store.Claim{{Key: k, Token: o.token}})[0]
	})
}
