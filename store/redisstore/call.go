package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// call is one step of one record, and what came of it.
type call struct {
	op     string
	script *script
	name   string
	token  string
	place  int // of the answer in the caller's list

	numbers [4]int64 // what the script takes beside the token

	// The fast path, if there is one: a SET, and what turns the value that it
	// met into the script's answer, or into nil if the script must decide.
	set    []any
	args   [7]any // the array of set
	judge  func(c *call, met string, found bool) []int64
	longer int64 // the keep that a fast complete has overwritten, or 0

	cmd once // of a try in a batch

	answer  []int64
	err     error
	open    bool  // the fast path has left it to the script
	plain   bool  // the last try was made without script flags
	applied bool  // perhaps: a try failed in a way that leaves this open
	earlier error // of a try that was repeated, or nil
}

// address cuts the name of c from the text that begins with it, and returns the
// rest: a string of its own for each would cost as much as all else in a call.
func (c *call) address(name, text []byte) (value string) {
	all := string(text)
	c.name = all[:len(name)]
	return all[len(name):]
}

// run makes one call.
func (s *Store) run(ctx context.Context, op string, script *script, name, token string,
	numbers ...int64) ([]int64, error) {
	c := &call{op: op, script: script, name: name, token: token}
	copy(c.numbers[:], numbers)
	s.do(ctx, []*call{c})
	return c.result()
}

// do makes all calls, in one round trip if all goes well. What must wait for a
// claim on the wire goes after the others.
func (s *Store) do(ctx context.Context, calls []*call) {
	calls, held := s.left.hold(calls)
	s.repeat(ctx, calls)
	for _, c := range held {
		if c.err = s.left.wait(ctx, c); c.err == nil {
			s.repeat(ctx, []*call{c})
		}
	}
}

// repeat makes all calls, and repeats those that are worth it as often as the
// client's options say. It does so itself, and keeps go-redis from it, because
// only then every failed try is seen: when the first one may have been applied,
// a second that was refused proves nothing.
func (s *Store) repeat(ctx context.Context, calls []*call) {
	if slices.ContainsFunc(calls, (*call).hasFastPath) && ctx.Err() == nil && !s.takesFastPath(ctx) {
		for _, c := range calls {
			c.set = nil
		}
	}
	if err := ctx.Err(); err != nil {
		for _, c := range calls {
			c.err = notSent{err}
		}
		return
	}
	for try := 0; len(calls) > 0; try++ {
		s.send(ctx, calls)
		s.relearn(ctx, calls)
		calls = pick(calls, (*call).again)
		if len(calls) > 0 && (try == s.limits.retries || !s.pause(ctx, try)) {
			return
		}
	}
}

// relearn has a cluster client ask which server has which slots, when one does
// not answer. By itself it asks when a server redirects it, which a server that
// is gone never does, and otherwise once a minute.
func (s *Store) relearn(ctx context.Context, calls []*call) {
	for _, c := range calls {
		if _, answered := reply(c.err); c.err != nil && !answered {
			s.reload(ctx)
			return
		}
	}
}

func (s *Store) reload(ctx context.Context) {
	if cluster, ok := s.client.(interface{ ReloadState(context.Context) }); ok {
		cluster.ReloadState(ctx) // in the background, once at a time
	}
}

func (c *call) hasFastPath() bool { return c.set != nil }

// again reports whether to repeat the call, after each try.
func (c *call) again() bool {
	if c.err == nil {
		return false
	}
	class, again := classify(c.err)
	c.applied = c.applied || class == store.Unknown
	if again {
		c.earlier = c.err
	}
	return again
}

// result is the answer of the script, or the error in the form that the
// contract asks for.
func (c *call) result() ([]int64, error) {
	if c.err == nil && len(c.answer) != c.script.answers {
		c.err = fmt.Errorf("the script answered %d numbers, want %d", len(c.answer), c.script.answers)
	}
	if c.err == nil {
		return c.answer, nil
	}
	class, _ := classify(c.err)
	if c.applied && class == store.NotApplied {
		class = store.Unknown
	}
	return nil, &store.Error{Driver: "redisstore", Op: c.op, Class: class, Err: redacted(c.cause())}
}

// cause is the last error. When that is only the end of the time for the call,
// it also says what an earlier try met, such as a port that nobody listens on.
func (c *call) cause() error {
	if c.earlier == nil || !errors.Is(c.err, context.DeadlineExceeded) && !errors.Is(c.err, context.Canceled) {
		return c.err
	}
	return fmt.Errorf("%w, after: %v", c.err, redacted(c.earlier))
}

// send makes one try of each call: the fast path where there is one, and the
// script of what that leaves open. A server that does not have a script is sent
// its source, one that cannot read its flags is sent the script without them.
func (s *Store) send(ctx context.Context, calls []*call) {
	s.exchange(ctx, calls, "evalsha")
	if open := pick(calls, func(c *call) bool { return c.open }); len(open) > 0 {
		s.exchange(ctx, open, "evalsha")
	}
	if missing := pick(calls, func(c *call) bool { return errorCode(c.err) == "NOSCRIPT" }); len(missing) > 0 {
		s.exchange(ctx, missing, "eval")
	}
	if flagged := pick(calls, (*call).flagged); len(flagged) > 0 {
		s.noFlags.Store(true)
		s.send(ctx, flagged)
	}
}

// flagged reports whether the server refused the script because of its flags.
func (c *call) flagged() bool {
	return c.err != nil && c.script.plain != nil && !c.plain && strings.Contains(c.err.Error(), "compiling script")
}

// pause waits between two tries, longer each time and never in step with other
// callers. It reports false when ctx ends first.
func (s *Store) pause(ctx context.Context, try int) bool {
	d := min(s.limits.minPause<<min(try, 20), s.limits.maxPause)
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d/2 + rand.N(d/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func pick(calls []*call, want func(*call) bool) []*call {
	var picked []*call
	for _, c := range calls {
		if want(c) {
			picked = append(picked, c)
		}
	}
	return picked
}

// redacted removes what a server repeats of a command it does not know: the
// arguments of AUTH among them.
func redacted(err error) error {
	if text, _, found := strings.Cut(err.Error(), "with args beginning with"); found {
		return errors.New(text + "with args […]")
	}
	return err
}
