package redisstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Get reads the record of k, in one round trip. A record that has lost its
// expiry is shown with all of it left. Beside the Java original its claims have
// no token and no attempts, and what it has done need not have a token.
func (s *Store) Get(ctx context.Context, k store.Key) (store.Record, error) {
	if err := k.Validate(); err != nil {
		return store.Record{}, fmt.Errorf("redisstore: get: %w", err)
	}
	r, err := sight(s.run(ctx, "get", lookScript, s.name(k), ""))
	switch {
	case err != nil:
		return store.Record{}, err
	case r.Status == 0:
		return store.Record{}, store.ErrNoRecord
	}
	r.Key, r.Hashed = k.Bounded().Unbounded()
	return r, nil
}

// Forget removes the record of k, one that cannot be understood or is of a
// foreign type included. Beside the Java original a claim of its is in flight
// until it expires. The user of the server needs the right to DEL.
func (s *Store) Forget(ctx context.Context, k store.Key) error {
	if err := k.Validate(); err != nil {
		return fmt.Errorf("redisstore: forget: %w", err)
	}
	c := &call{op: "forget", script: forgetScript, name: s.name(k)}
	s.do(ctx, []*call{c})
	answer, err := c.result()
	switch {
	case err != nil:
		return err
	case answer[0] == 2:
		return store.ErrInFlight
	case answer[0] == 0 && !c.applied: // else an earlier try has perhaps removed it
		return store.ErrNoRecord
	}
	return nil
}

// lookFields is how many numbers lua/look.lua answers.
const lookFields = 11

// sight reads the answer of lua/look.lua: a record without a key, a zero one for
// an absent one.
func sight(answer []int64, err error) (store.Record, error) {
	switch {
	case errorCode(err) == "WRONGTYPE":
		return store.Record{Status: store.StatusCorrupt}, nil
	case err != nil:
		return store.Record{}, err
	case answer[0] < 0 || answer[0] > int64(store.StatusCorrupt):
		return store.Record{}, errors.New("redisstore: look: the script answered a status that there is not")
	}
	r := store.Record{
		Status: store.Status(answer[0]), Attempt: int(answer[5]), Fence: answer[8],
		Lease: ms(answer[6]), Horizon: ms(answer[7]), LeaseLeft: ms(answer[9]), ExpiresIn: ms(answer[10]),
	}
	for i, n := range answer[1:5] {
		binary.BigEndian.PutUint32(r.Token[4*i:], uint32(n))
	}
	if r.Status != store.StatusConsuming && r.Status != store.StatusLapsed {
		r.Lease, r.Horizon = 0, 0
	}
	return r, nil
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
