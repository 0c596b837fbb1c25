package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Pulse answers for the only server, or for every master of a cluster that has
// 64 slots in a row. Masters are asked at the same time, and nothing is repeated.
// Behind a proxy that gives INFO to one of several servers every pulse looks like
// a failover.
func (s *Store) Pulse(ctx context.Context, p store.Pulse) ([]store.Beat, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("redisstore: pulse: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, noBeat("pulse", notSent{err})
	}
	parts, err := s.parts(ctx)
	beats, errs := make([]*store.Beat, len(parts)), make([]error, len(parts))
	var asked sync.WaitGroup
	for i, part := range parts {
		asked.Go(func() { beats[i], errs[i] = s.beat(ctx, part, p) })
	}
	asked.Wait()
	var answered []store.Beat
	for _, b := range beats {
		if b != nil {
			answered = append(answered, *b)
		}
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		s.reload(ctx)
		return answered, err
	}
	return answered, nil
}

// part is a server, and the hash tag of names that it has. A part is called
// after the tag, so that it stays the same when another server takes over.
type part struct {
	tag    string
	server string
	client interface{ Pipeline() redis.Pipeliner }
}

// stride is the distance between the slots that parts looks for a master at.
const stride = 64

// parts are what may lose records by itself.
func (s *Store) parts(ctx context.Context) ([]part, error) {
	cluster, ok := s.client.(interface {
		MasterForKey(context.Context, string) (*redis.Client, error)
	})
	if !ok {
		return []part{{tag: "pulse", server: s.limits.server, client: s.client}}, nil
	}
	var parts []part
	seen := map[string]bool{}
	for at := 0; at < slots; at += stride {
		tag := slotNumbers()[at]
		node, err := cluster.MasterForKey(ctx, tag)
		if err != nil {
			return parts, noBeat("pulse", err)
		}
		if server := node.Options().Addr; !seen[server] {
			seen[server] = true
			parts = append(parts, part{tag, server, node})
		}
	}
	return parts, nil
}

// beat asks one part, in one round trip.
func (s *Store) beat(ctx context.Context, at part, p store.Pulse) (*store.Beat, error) {
	q := s.question(ctx, at.tag, p)
	pipe := at.client.Pipeline()
	for _, cmd := range q.all() {
		_ = pipe.Process(ctx, once{cmd}) // only queues
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, cmd := range q.all() {
		if errorCode(cmd.Err()) == "ASK" {
			_ = s.client.Process(ctx, once{cmd}) // the name is where its slot is moving to
		}
	}
	b, err := q.beat(at)
	if err != nil {
		return nil, noBeat("pulse of "+at.server, err)
	}
	return b, nil
}

// question is what one part is asked. INFO is sent twice because Redis 6.2 takes
// one section at a time.
type question struct {
	number          *redis.StringCmd
	doubt           *redis.StatusCmd // nil without one
	left            *redis.DurationCmd
	clock           *redis.TimeCmd
	process, counts *redis.StringCmd
}

func (s *Store) question(ctx context.Context, tag string, p store.Pulse) question {
	name := s.pulseName(tag, p.Application)
	doubt := name + "doubt"
	q := question{
		number: redis.NewStringCmd(ctx, "set", name+p.Node.String(), p.Number,
			"px", store.PulseKeep.Milliseconds(), "get"),
		left:    redis.NewDurationCmd(ctx, time.Millisecond, "pttl", doubt),
		clock:   redis.NewTimeCmd(ctx, "time"),
		process: redis.NewStringCmd(ctx, "info", "server"),
		counts:  redis.NewStringCmd(ctx, "info", "stats"),
	}
	if p.Doubt {
		q.doubt = redis.NewStatusCmd(ctx, "set", doubt, p.Number, "px", store.DoubtKeep.Milliseconds())
	}
	return q
}

func (q question) all() []redis.Cmder {
	all := []redis.Cmder{q.number, q.left, q.clock, q.process, q.counts}
	if q.doubt != nil {
		all = slices.Insert(all, 0, redis.Cmder(q.doubt))
	}
	return all
}

// beat is the answer.
func (q question) beat(at part) (*store.Beat, error) {
	before, err := q.number.Int64()
	if err == redis.Nil {
		before, err = 0, nil
	}
	for _, cmd := range q.all() {
		if cmd != redis.Cmder(q.number) {
			err = cmp.Or(err, cmd.Err())
		}
	}
	if err != nil {
		return nil, err
	}
	told := parseInfo(q.process.Val() + q.counts.Val())
	evicted, _ := strconv.ParseInt(told["evicted_keys"], 10, 64) // 0 where a service hides it
	b := &store.Beat{
		Part: at.tag, Server: at.server, Before: before, Run: told["run_id"], Evicted: evicted, Time: q.clock.Val(),
		Doubt: -1,
	}
	if left := q.left.Val(); left >= 0 {
		b.Doubt = max(0, store.DoubtKeep-left)
	}
	return b, nil
}

// noBeat is the failure of a pulse, which is never repeated.
func noBeat(op string, err error) error {
	class, _ := classify(err)
	return &store.Error{Driver: "redisstore", Op: op, Class: class, Err: redacted(err)}
}

// compatPulsePrefix begins the names of pulses beside the Java original, which
// all its own names differ from.
const compatPulsePrefix = "dedup-pulse:"

// pulseName begins the names of an application's pulses. Those of records have
// colons between their braces.
func (s *Store) pulseName(tag, application string) string {
	prefix := s.options.Prefix
	if s.compat {
		prefix = compatPulsePrefix
	}
	escaped := strings.TrimRight(store.Key{Application: application}.String(), ":")
	return prefix + "{" + tag + "}" + escaped + ":"
}
