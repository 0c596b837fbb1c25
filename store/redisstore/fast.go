package redisstore

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The fast path of a claim or of a complete is one SET that answers the value it
// met. What that value leaves open is decided by the script, which judges the
// record as it is then.

// appendClaim appends the value of a first claim.
func appendClaim(value []byte, t store.Token, lease, horizon int64) []byte {
	value = hex.AppendEncode(append(value, "P|"...), t[:])
	value = strconv.AppendInt(append(value, "|1|"...), lease, 10)
	value = strconv.AppendInt(append(value, '|'), horizon, 10)
	return append(value, "|0"...)
}

// appendDone appends the value of a done record.
func appendDone(value []byte, t store.Token, keep int64) []byte {
	value = hex.AppendEncode(append(value, "D|"...), t[:])
	return strconv.AppendInt(append(value, '|'), keep, 10)
}

// tokenOf is the wire form of the token in a value.
func tokenOf(value string) string { return value[2 : 2+2*len(store.Token{})] }

// fastClaim appends a SET that grants a key without a record.
func fastClaim(args []any, name, value string, lease, horizon int64) []any {
	return append(args, "set", name, value, "nx", "get", "px", lease+horizon)
}

// fastComplete appends a SET that makes any string done.
func fastComplete(args []any, name, value string, keep int64) []any {
	return append(args, "set", name, value, "px", keep, "get")
}

// judgeClaim turns what a fast claim met into an answer of lua/claim.lua, or
// into nil. A record of the caller's own is not its own claim for certain: the
// lease may have ended, and a release may have come between.
func judgeClaim(_ *call, met string, found bool) []int64 {
	if !found {
		return claimedFirst
	}
	if r, ok := decode(met); ok && r.kind == 'D' {
		return claimMetDone
	}
	return nil
}

// judgeComplete turns what a fast complete met into an answer of
// lua/complete.lua, and notes a longer keep that it has overwritten.
func judgeComplete(c *call, met string, found bool) []int64 {
	r, ok := decode(met)
	switch own := r.token == c.token; {
	case !found:
		return completedNothing
	case !ok:
		return completedNonsense
	case r.kind == 'D':
		if r.keep > c.numbers[0] {
			c.longer = r.keep
		}
		if own {
			return completedOwn
		}
		return completedDone
	case r.kind == 'P' && own:
		return completedOwn
	}
	return completedLate
}

// Answers of the scripts, as the fast path gives them.
var (
	claimedFirst      = []int64{1, 1, 0}
	claimMetDone      = []int64{3, 0, 0}
	completedOwn      = []int64{1}
	completedDone     = []int64{2}
	completedLate     = []int64{3}
	completedNothing  = []int64{4}
	completedNonsense = []int64{5}
)

// readFast takes the answer of a fast path. It is gone only once: a repeat, which
// may meet what the first try has written, is the script's.
func (s *Store) readFast(c *call, met string, err error) {
	c.set = nil
	switch {
	case err == nil, err == redis.Nil:
		c.answer, c.err = c.judge(c, met, err == nil), nil
		c.open = c.answer == nil
	case isReply(err) && errorCode(err) != "WRONGTYPE":
		// The script may still answer: a server without memory, or one that cannot
		// save, refuses every SET, but not to tell what is done.
		c.answer, c.err, c.open = nil, nil, true
		if strings.HasPrefix(err.Error(), "ERR syntax error") {
			s.fast.Store(refused)
		}
	default:
		c.err = err
	}
}

// prolong is the second step of a fast complete that has overwritten a longer
// keep. Until it has been made done is kept for as long as this caller asked, so
// its failure takes nothing from the answer.
func (s *Store) prolong(ctx context.Context, calls []*call) {
	var again []*call
	for _, c := range calls {
		if c.longer > 0 {
			again = append(again, &call{
				op: c.op, script: prolongScript, name: c.name, token: c.token, numbers: [4]int64{c.longer},
			})
		}
	}
	if len(again) > 0 {
		s.do(ctx, again)
	}
}

// What is known of the fast path.
const (
	untried int32 = iota
	trying
	works
	refused
)

// takesFastPath reports whether the server takes the fast path. The first to ask
// tries it out; meanwhile everybody else takes the scripts, which go together
// with it. Records that are shared with the Java original need two keys.
func (s *Store) takesFastPath(ctx context.Context) bool {
	if s.compat {
		return false
	}
	if known := s.fast.Load(); known != untried {
		return known == works
	}
	if !s.fast.CompareAndSwap(untried, trying) {
		return false
	}
	return s.tryFastPath(ctx) == nil && s.fast.Load() == works
}

// tryFastPath takes a scratch record along the fast path, in one round trip, and
// notes what came of it. An error means that the server did not tell.
func (s *Store) tryFastPath(ctx context.Context) error {
	const lease, horizon, keep = 60_000, 60_000, 1_000 // ms; the record is gone after keep
	name, t := s.scratch(), store.NewToken()
	first := string(appendClaim(nil, t, lease, horizon))
	second := string(appendClaim(nil, store.NewToken(), lease, horizon))
	done := string(appendDone(nil, t, keep))
	cmds := []*redis.StringCmd{
		redis.NewStringCmd(ctx, fastClaim(nil, name, first, lease, horizon)...),
		redis.NewStringCmd(ctx, fastClaim(nil, name, second, lease, horizon)...),
		redis.NewStringCmd(ctx, fastComplete(nil, name, done, keep)...),
		redis.NewStringCmd(ctx, "get", name),
	}
	pipe := s.client.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, once{cmd}) // only queues
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, want := range []string{"", first, first, done} {
		met, err := cmds[i].Result()
		class, _ := classify(err)
		switch {
		case err == redis.Nil && want == "", err == nil && met == want:
		case err == redis.Nil, err == nil, isReply(err) && class == store.Unknown:
			s.fast.Store(refused)
			return nil
		default: // such as a server that is loading: it does not tell
			s.fast.Store(untried)
			return &store.Error{Driver: "redisstore", Op: "check: fast path", Class: class, Err: redacted(err)}
		}
	}
	s.fast.Store(works)
	return nil
}

// judgeFastPath says so if the server does not take the fast path.
func (s *Store) judgeFastPath(ctx context.Context) ([]*Finding, error) {
	if s.compat {
		return nil, nil
	}
	if err := s.tryFastPath(ctx); err != nil || s.fast.Load() == works {
		return nil, err
	}
	return []*Finding{{
		Field:   "SET with NX and GET",
		Problem: "the server does not take them together, so every claim and complete costs it a script",
		Remedy:  "use Redis 7.0 or later",
		Advice:  true,
	}}, nil
}
