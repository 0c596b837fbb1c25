package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// The rules that package sqlrecord has in Go take the same steps as the
// statements: answers and rows must be the same.
func TestStatementsDecideAsTheRulesInGoDo(t *testing.T) {
	t.Parallel()
	const sequences, steps = 20, 40
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := migrated(t, db, mysqlstore.Options{})
		for _, together := range []bool{false, true} {
			var all sync.WaitGroup
			for seed := range uint64(sequences) {
				all.Go(func() {
					a := newAgreement(s, db, seed, together)
					for range steps {
						if err := a.step(within(t, ample)); err != nil {
							t.Errorf("together %v, seed %d: %v, after\n\t%s", together, seed, err, strings.Join(a.story, "\n\t"))
							return
						}
					}
				})
			}
			all.Wait()
		}
	})
}

// agreement is one key in a table, and the row that it should have. With
// together set, steps travel with those of other keys.
type agreement struct {
	s        *mysqlstore.Store
	db       *sql.DB
	key      store.Key
	row      sqlrecord.Row
	tokens   []store.Token
	random   *rand.Rand
	together bool
	story    []string
}

func newAgreement(s *mysqlstore.Store, db *sql.DB, seed uint64, together bool) *agreement {
	a := &agreement{s: s, db: db, key: newKey(), random: rand.New(rand.NewPCG(seed, 1)), together: together}
	for range 4 {
		a.tokens = append(a.tokens, store.NewToken())
	}
	return a
}

// duration is so long that nothing ends by itself.
func (a *agreement) duration() time.Duration {
	return time.Hour + time.Duration(a.random.IntN(10_000_000))*time.Millisecond
}

// span is when a step was taken, by the clock of the server.
type span struct{ from, to int64 }

// answer is what a step says, and what it says in milliseconds.
type answer struct {
	text   string
	number int64
}

// rule takes the step in Go.
type rule func(r *sqlrecord.Row, now int64) answer

// step takes one in the table and in Go.
func (a *agreement) step(ctx context.Context) error {
	if a.random.IntN(4) == 0 {
		return a.shift(ctx)
	}
	var during span
	var err error
	if during.from, err = a.now(ctx); err != nil {
		return err
	}
	what, got, decide := a.draw(ctx)
	if during.to, err = a.now(ctx); err != nil {
		return err
	}
	a.story = append(a.story, fmt.Sprintf("%s: %v", what, got))
	want := decide(&a.row, during.to)
	if off := want.number - got.number; got.text != want.text || off > during.to-during.from || -off > during.to-during.from {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	if got.text == "drawn" {
		a.row.Fence = got.number
	}
	return a.compare(ctx, during)
}

func (a *agreement) now(ctx context.Context) (ms int64, err error) {
	err = a.db.QueryRowContext(ctx, "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000").Scan(&ms)
	return ms, err
}

// draw takes a random step in the table, and returns the rule for it.
func (a *agreement) draw(ctx context.Context) (what string, got answer, decide rule) {
	i, keep, ran := a.random.IntN(len(a.tokens)), a.duration(), a.random.IntN(2) == 0
	token := a.tokens[i]
	switch a.random.IntN(10) {
	case 0, 1, 2, 3:
		q := store.ClaimRequest{Key: a.key, Token: token, Lease: a.duration(), Horizon: a.duration()}
		if ran {
			q.MaxAttempts, q.ParkKeep = 1+a.random.IntN(3), keep
		}
		return fmt.Sprintf("claim %d, %d times at most", i, q.MaxAttempts), judged(a.claim(ctx, q)),
			func(r *sqlrecord.Row, now int64) answer { _, v, err := r.Claim(q, now); return judged(v, err) }
	case 4, 5:
		settled := a.settle(ctx, store.Settlement{Claim: store.Claim{Key: a.key, Token: token}, Keep: keep})
		return fmt.Sprintf("complete %d", i), answer{text: fmt.Sprint(settled.Completion, settled.Err)},
			func(r *sqlrecord.Row, now int64) answer {
				return answer{text: fmt.Sprint(r.Complete(token, keep, now), nil)}
			}
	case 6:
		settled := a.settle(ctx, store.Settlement{Claim: store.Claim{Key: a.key, Token: token}, Ran: ran})
		return fmt.Sprintf("release %d, ran %v", i, ran), answer{text: fmt.Sprint(settled.Err)},
			func(r *sqlrecord.Row, now int64) answer {
				_, err := r.Release(token, ran, now)
				return answer{text: fmt.Sprint(err)}
			}
	case 7:
		return fmt.Sprintf("renew %d", i), answer{text: fmt.Sprint(a.renew(ctx, token))},
			func(r *sqlrecord.Row, now int64) answer {
				_, err := r.Renew(token, now)
				return answer{text: fmt.Sprint(err)}
			}
	case 8:
		return fmt.Sprintf("park %d", i), answer{text: fmt.Sprint(a.s.Park(ctx, a.key, token, keep))},
			func(r *sqlrecord.Row, now int64) answer {
				_, err := r.Park(token, keep, now)
				return answer{text: fmt.Sprint(err)}
			}
	}
	n, err := a.s.Fence(ctx, a.key, token)
	return fmt.Sprintf("fence %d", i), drawn(n, err),
		func(r *sqlrecord.Row, now int64) answer { return drawn(r.Draw(token, now)) }
}

// judged is a verdict, with what is left of another's lease.
func judged(v store.Verdict, err error) answer {
	return answer{fmt.Sprintf("%v %d, rearmed %v, %v", v.State, v.Attempt, v.Rearmed, err), v.Left.Milliseconds()}
}

func drawn(n int64, err error) answer {
	if err != nil {
		return answer{text: err.Error()}
	}
	return answer{"drawn", n}
}

func (a *agreement) claim(ctx context.Context, q store.ClaimRequest) (store.Verdict, error) {
	if !a.together {
		return a.s.Claim(ctx, q)
	}
	got := a.s.ClaimBatch(ctx, append(requests(newKeys(2)), q))[2]
	return got.Verdict, got.Err
}

func (a *agreement) settle(ctx context.Context, one store.Settlement) store.SettleAnswer {
	if a.together {
		others := settlements(requests(newKeys(4)))
		return a.s.SettleBatch(ctx, append(others, one))[len(others)]
	}
	if one.Keep == 0 {
		return store.SettleAnswer{Err: a.s.Release(ctx, one.Key, one.Token, one.Ran)}
	}
	c, err := a.s.Complete(ctx, one.Key, one.Token, one.Keep)
	return store.SettleAnswer{Completion: c, Err: err}
}

func (a *agreement) renew(ctx context.Context, token store.Token) error {
	claims := []store.Claim{{Key: a.key, Token: token}}
	if a.together {
		claims = append(claims, store.Claim{Key: newKey(), Token: token})
	}
	return a.s.Renew(ctx, claims)[0]
}

// shift changes the row from behind: its lease has ended, or all of it has, its
// expiry is lost, or it is nothing that anybody understands.
func (a *agreement) shift(ctx context.Context) error {
	now, err := a.now(ctx)
	if err != nil {
		return err
	}
	switch n := a.random.IntN(8); {
	case n < 4 && a.row.Status == sqlrecord.Consuming:
		a.row.Expires = now + a.row.Horizon - 1
	case n < 6:
		a.row.Expires = 1
	case n < 7 && (a.row.Status == sqlrecord.Consuming || a.row.Status == sqlrecord.Consumed):
		a.row.Expires = 1<<63 - 1
	case n < 8 && !a.row.Absent(now):
		a.row.Status = "GARBAGE"
	}
	if a.row.Status == "" { // there is none yet
		a.row.Expires = 0
		return nil
	}
	a.story = append(a.story, fmt.Sprintf("shift to %s, %d", a.row.Status, a.row.Expires-now))
	_, err = a.db.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET status = '%s', expire_time = %d WHERE %s",
		a.s.Table(), a.row.Status, a.row.Expires, a.s.Where(a.key)))
	return err
}

// compare wants the table to hold the row, but for the time that a step took.
func (a *agreement) compare(ctx context.Context, during span) error {
	var got sqlrecord.Row
	var owner []byte
	err := a.db.QueryRowContext(ctx, fmt.Sprintf(
		"SELECT status, owner, attempts, lease_ms, horizon_ms, keep_ms, fence, expire_time FROM %s WHERE %s",
		a.s.Table(), a.s.Where(a.key))).
		Scan(&got.Status, &owner, &got.Attempts, &got.Lease, &got.Horizon, &got.Keep, &got.Fence, &got.Expires)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	copy(got.Owner[:], owner)
	want := a.row
	for _, r := range []*sqlrecord.Row{&got, &want} { // what depends on nothing in a state may be anything
		switch r.Status {
		case sqlrecord.Consuming:
			r.Keep = 0
		case sqlrecord.Released:
			r.Keep, r.Lease = 0, 0
		case sqlrecord.Consumed, sqlrecord.Parked:
			r.Lease, r.Horizon = 0, 0
		default:
			r.Lease, r.Horizon, r.Keep = 0, 0, 0
		}
	}
	if off := want.Expires - got.Expires; off >= 0 && off <= during.to-during.from {
		want.Expires = got.Expires
		a.row.Expires = got.Expires
	}
	if got != want {
		return fmt.Errorf("row: got %+v, want %+v", got, want)
	}
	return nil
}
