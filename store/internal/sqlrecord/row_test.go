package sqlrecord_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

const (
	now     = int64(1_700_000_000_000)
	lease   = int64(30_000)
	horizon = int64(3_600_000)
	keep    = int64(86_400_000)
	never   = int64(math.MaxInt64) // the expiry of a record that lost it
)

var owner, other = store.NewToken(), store.NewToken()

func ask(t store.Token) store.ClaimRequest {
	return store.ClaimRequest{
		Key:   store.Key{Application: "a", Topic: "t", ID: "1"},
		Token: t, Lease: ms(lease), Horizon: ms(horizon),
	}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func row(status string, expires int64) sqlrecord.Row {
	return sqlrecord.Row{
		Status: status, Owner: owner, Attempts: 2, Lease: lease, Horizon: horizon, Keep: keep, Fence: 7, Expires: expires,
	}
}

func TestAClaimJudgesWhatItMeets(t *testing.T) {
	t.Parallel()
	claimed := func(attempt int) store.Verdict { return store.Verdict{State: store.Claimed, Attempt: attempt} }
	for name, c := range map[string]struct {
		row     sqlrecord.Row
		by      store.Token
		most    int
		want    store.Verdict
		err     error
		expires int64
	}{
		"nothing":                         {sqlrecord.Row{}, other, 0, claimed(1), nil, now + lease + horizon},
		"an expired claim":                {row(sqlrecord.Consuming, now), owner, 0, claimed(1), nil, now + lease + horizon},
		"an expired word of nobody's":     {row("?", now), owner, 0, claimed(1), nil, now + lease + horizon},
		"a word of nobody's":              {row("?", never), owner, 0, store.Verdict{State: store.Corrupt}, nil, never},
		"done":                            {row(sqlrecord.Consumed, now+1), owner, 0, store.Verdict{State: store.Done}, nil, now + 1},
		"done for ever":                   {row(sqlrecord.Consumed, never), owner, 0, store.Verdict{State: store.Done, Rearmed: true}, nil, now + keep},
		"parked":                          {row(sqlrecord.Parked, now+1), owner, 0, store.Verdict{State: store.Parked}, nil, now + 1},
		"parked for ever":                 {row(sqlrecord.Parked, never), owner, 0, store.Verdict{State: store.Parked, Rearmed: true}, nil, now + keep},
		"a release of its own":            {row(sqlrecord.Released, now+1), owner, 0, store.Verdict{}, store.ErrNotOwner, now + 1},
		"a release":                       {row(sqlrecord.Released, never), other, 0, claimed(3), nil, now + lease + horizon},
		"a release too many":              {row(sqlrecord.Released, now+1), other, 2, store.Verdict{State: store.Parked}, nil, now + 5},
		"its own claim":                   {row(sqlrecord.Consuming, now+1), owner, 1, claimed(2), nil, now + lease + horizon},
		"a claim in its last millisecond": {row(sqlrecord.Consuming, now+horizon+1), other, 0, store.Verdict{State: store.Busy, Left: ms(1)}, nil, now + horizon + 1},
		"a claim that has just lapsed":    {row(sqlrecord.Consuming, now+horizon), other, 3, claimed(3), nil, now + lease + horizon},
		"a lapsed claim too many":         {row(sqlrecord.Consuming, now+horizon), other, 2, store.Verdict{State: store.Parked}, nil, now + 5},
		"a claim for ever":                {row(sqlrecord.Consuming, never), other, 2, store.Verdict{State: store.Busy, Left: ms(lease), Rearmed: true}, nil, now + lease + horizon},
	} {
		r, q := c.row, ask(c.by)
		q.MaxAttempts, q.ParkKeep = c.most, ms(5)
		changed, v, err := r.Claim(q, now)
		if v != c.want || !errors.Is(err, c.err) || r.Expires != c.expires {
			t.Errorf("%s: got %+v, %v and expiry %d; want %+v, %v and %d", name, v, err, r.Expires, c.want, c.err, c.expires)
		}
		if changed != (r != c.row) {
			t.Errorf("%s: got changed %v for %+v after %+v", name, changed, r, c.row)
		}
		if r.Fence != c.row.Fence {
			t.Errorf("%s: got number %d, want %d to stay", name, r.Fence, c.row.Fence)
		}
	}
}

func TestACompleteTellsWhatItFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row     sqlrecord.Row
		by      store.Token
		keep    int64
		want    store.Completion
		owner   store.Token
		expires int64
	}{
		"nothing":                  {sqlrecord.Row{}, other, 5, store.Recreated, other, now + 5},
		"an expired claim":         {row(sqlrecord.Consuming, now), owner, 5, store.Recreated, owner, now + 5},
		"a word of nobody's":       {row("?", never), owner, 5, store.Repaired, owner, now + 5},
		"its own claim":            {row(sqlrecord.Consuming, now+1), owner, 5, store.Completed, owner, now + 5},
		"another's claim":          {row(sqlrecord.Consuming, now+1), other, 5, store.Late, other, now + 5},
		"its own release":          {row(sqlrecord.Released, now+1), owner, 5, store.Late, owner, now + 5},
		"parked":                   {row(sqlrecord.Parked, now+9), owner, 5, store.Late, owner, now + 5},
		"its own complete":         {row(sqlrecord.Consumed, now+9), owner, 5, store.Completed, owner, now + 9},
		"another's complete":       {row(sqlrecord.Consumed, now+9), other, 15, store.AlreadyDone, owner, now + 15},
		"a complete for ever":      {row(sqlrecord.Consumed, never), other, 5, store.AlreadyDone, owner, now + keep},
		"a longer one of for ever": {row(sqlrecord.Consumed, never), other, keep + 1, store.AlreadyDone, owner, now + keep + 1},
	} {
		r := c.row
		got := r.Complete(c.by, ms(c.keep), now)
		if got != c.want || r.Status != sqlrecord.Consumed || r.Owner != c.owner || r.Expires != c.expires {
			t.Errorf("%s: got %v and %+v, want %v of %v until %d", name, got, r, c.want, c.owner, c.expires)
		}
		if r.Fence != c.row.Fence {
			t.Errorf("%s: got number %d, want %d to stay", name, r.Fence, c.row.Fence)
		}
		if r.Expires > now+r.Keep {
			t.Errorf("%s: got %+v, whose expiry would pass for lost", name, r)
		}
	}
}

func TestARepeatedStepGivesALostExpiryBack(t *testing.T) {
	t.Parallel()
	for status, c := range map[string]struct {
		step func(*sqlrecord.Row) (bool, error)
		want int64
	}{
		sqlrecord.Released:  {func(r *sqlrecord.Row) (bool, error) { return r.Release(owner, true, now) }, now + horizon},
		sqlrecord.Parked:    {func(r *sqlrecord.Row) (bool, error) { return r.Park(owner, ms(9), now) }, now + keep},
		sqlrecord.Consuming: {func(r *sqlrecord.Row) (bool, error) { return r.Renew(owner, now) }, now + lease + horizon},
	} {
		r := row(status, never)
		if changed, err := c.step(&r); !changed || err != nil || r.Expires != c.want || r.Attempts != 2 {
			t.Errorf("%s: got %v, %v and %+v, want expiry %d and nothing else changed", status, changed, err, r, c.want)
		}
	}
	r := row(sqlrecord.Consuming, never)
	if n, err := r.Draw(owner, now); n != now || err != nil || r.Expires != now+lease+horizon {
		t.Errorf("fence: got %d, %v and %+v, want the time and an expiry", n, err, r)
	}
}

func TestARecordShowsWhatAClaimWouldMeet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  sqlrecord.Row
		want store.Record
	}{
		"a running claim": {row(sqlrecord.Consuming, now+horizon+1), store.Record{
			Status: store.StatusConsuming, Lease: ms(lease), Horizon: ms(horizon), LeaseLeft: ms(1), ExpiresIn: ms(horizon + 1)}},
		"a claim for ever": {row(sqlrecord.Consuming, never), store.Record{
			Status: store.StatusConsuming, Lease: ms(lease), Horizon: ms(horizon), LeaseLeft: ms(lease), ExpiresIn: ms(lease + horizon)}},
		"a lapsed claim": {row(sqlrecord.Consuming, now+1), store.Record{
			Status: store.StatusLapsed, Lease: ms(lease), Horizon: ms(horizon), LeaseLeft: ms(1 - horizon), ExpiresIn: ms(1)}},
		"a released claim": {row(sqlrecord.Released, now+1), store.Record{
			Status: store.StatusLapsed, Lease: ms(lease), Horizon: ms(horizon), LeaseLeft: ms(1 - horizon), ExpiresIn: ms(1)}},
		"done":   {row(sqlrecord.Consumed, now+1), store.Record{Status: store.StatusConsumed, ExpiresIn: ms(1)}},
		"parked": {row(sqlrecord.Parked, never), store.Record{Status: store.StatusParked, ExpiresIn: ms(keep)}},
	} {
		c.want.Token, c.want.Attempt, c.want.Fence = owner, 2, 7
		if got := c.row.Record(now); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	corrupt := row("?", never)
	if got, want := corrupt.Record(now), (store.Record{Status: store.StatusCorrupt}); got != want {
		t.Errorf("a word of nobody's: got %+v, want %+v", got, want)
	}
}
