package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// masters is a cluster client.
type masters interface {
	MasterForKey(context.Context, string) (*redis.Client, error)
}

// mostInSlot is how many names a slot may have. It takes a server about a tenth
// of a second to list them, and it does nothing else meanwhile.
const mostInSlot = 100_000

// slots reads the names in the next slots of a cluster. A slot is read in one
// step from the master that has it, whichever that is by then: a master that
// takes over and a slot that has moved change nothing. A slot on its way has
// names on two masters; what has left the one before it was read there is on the
// other for certain.
func (s *Store) slots(ctx context.Context, p *place, beginning string) ([]string, error) {
	cluster, ok := s.client.(masters)
	if !ok {
		return nil, notListed(fmt.Errorf("%w: the client does not tell the masters of its cluster", errors.ErrUnsupported))
	}
	first, end := int(p.at), min(int(p.at)+p.step, slots)
	reads := make([]*slotRead, 0, end-first)
	for at := first; at < end; at++ {
		tag := s.options.Prefix + "{" + slotNumbers()[at] + "}"
		reads = append(reads, &slotRead{slot: strconv.Itoa(at), tag: tag, beginning: beginning})
	}
	if err := s.readSlots(ctx, cluster, slices.Clone(reads)); err != nil {
		return nil, err
	}
	p.at, p.end = uint64(end), end == slots
	var names []string
	for _, r := range reads {
		names = append(names, r.names...)
	}
	return names, nil
}

// slotRead reads one slot.
type slotRead struct {
	slot      string
	tag       string // a name in it that nobody uses
	beginning string
	names     []string
	err       error
}

func (r *slotRead) done() bool { return r.err == nil }

// again reports whether it is worth a repeat.
func (r *slotRead) again() bool {
	_, again := classify(r.err)
	return again || errorCode(r.err) == "MOVED"
}

// patience lengthens the pauses between tries: the client takes up to 200 ms to
// learn where a slot is.
const patience = 5

// readSlots repeats what fails, as often as the client's options say.
func (s *Store) readSlots(ctx context.Context, cluster masters, left []*slotRead) error {
	for try := 0; ; try++ {
		s.trySlots(ctx, cluster, left)
		if left = slices.DeleteFunc(left, (*slotRead).done); len(left) == 0 {
			return nil
		}
		for _, r := range left {
			if !r.again() {
				return failedScan(r.err)
			}
		}
		s.reload(ctx)
		if try == s.limits.retries || !s.pause(ctx, try+patience) {
			return failedScan(left[0].err)
		}
	}
}

// trySlots makes one try, in one round trip to each master.
func (s *Store) trySlots(ctx context.Context, cluster masters, reads []*slotRead) {
	byMaster := map[*redis.Client][]*slotRead{}
	for _, r := range reads {
		node, err := cluster.MasterForKey(ctx, r.tag)
		if r.err = err; err == nil {
			byMaster[node] = append(byMaster[node], r)
		}
	}
	for node, reads := range byMaster {
		readFrom(ctx, node, reads, "evalsha")
		missing := func(r *slotRead) bool { return errorCode(r.err) == "NOSCRIPT" }
		if i := slices.IndexFunc(reads, missing); i >= 0 { // it has none then
			readFrom(ctx, node, reads[i:], "eval")
		}
		for _, r := range reads {
			if errorCode(r.err) == "ASK" {
				r.names, r.err = s.readMoving(ctx, node, r)
			}
		}
	}
}

// readFrom does not follow where the master sends it.
func readFrom(ctx context.Context, master *redis.Client, reads []*slotRead, verb string) {
	pipe := master.Pipeline()
	cmds := make([]*redis.StringSliceCmd, len(reads))
	for i, r := range reads {
		cmds[i] = r.command(ctx, verb, r.tag)
		_ = pipe.Process(ctx, once{cmds[i]}) // only queues
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, r := range reads {
		r.names, r.err = cmds[i].Result()
	}
}

// readMoving reads a slot that is on its way from a master: first what is there,
// then what is where it goes.
func (s *Store) readMoving(ctx context.Context, from *redis.Client, r *slotRead) ([]string, error) {
	here, there := r.command(ctx, "eval"), r.command(ctx, "eval", r.tag)
	if err := from.Process(ctx, once{here}); err != nil {
		return nil, err
	}
	if err := s.client.Process(ctx, once{there}); err != nil { // follows ASK
		return nil, err
	}
	return append(here.Val(), there.Val()...), nil
}

// command is the script, with a key or without.
func (r *slotRead) command(ctx context.Context, verb string, keys ...any) *redis.StringSliceCmd {
	text := slotScript.sha
	if verb == "eval" {
		text = slotScript.source
	}
	args := append([]any{verb, text, len(keys)}, keys...)
	cmd := redis.NewStringSliceCmd(ctx, append(args, r.slot, r.beginning, mostInSlot)...)
	if len(keys) > 0 {
		cmd.SetFirstKeyPos(3)
	}
	return cmd
}
