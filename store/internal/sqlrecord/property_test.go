package sqlrecord_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// pair is one key of both: a record of memstore, and a row.
type pair struct {
	mem    *memstore.Store
	row    sqlrecord.Row
	key    store.Key
	tokens []store.Token
	random *rand.Rand

	drawn int64 // the highest number
}

func TestRowsAnswerAsMemstoreDoes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			mem, err := memstore.New(memstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p := &pair{
				mem: mem, random: rand.New(rand.NewPCG(seed, 0)),
				key: store.Key{Application: "a", Topic: "t", ID: "1"},
			}
			for range 4 {
				p.tokens = append(p.tokens, store.NewToken())
			}
			var story []string
			for range 60 {
				step, got, want := p.step(t.Context())
				story = append(story, step+": "+want)
				if got != want {
					t.Fatalf("seed %d: got %s, want %s, after\n%q", seed, got, want, story)
				}
				p.wellFormed(t)
				time.Sleep(p.duration() * time.Duration(p.random.IntN(3)) / 2)
			}
		})
	}
}

// step does the same to both and returns both answers.
func (p *pair) step(ctx context.Context) (step, got, want string) {
	i := p.random.IntN(len(p.tokens))
	token, now, ran := p.tokens[i], time.Now().UnixMilli(), p.random.IntN(2) == 0
	d := p.duration()
	switch p.random.IntN(8) {
	case 0, 1, 2:
		r := store.ClaimRequest{Key: p.key, Token: token, Lease: d, Horizon: p.duration()}
		if p.random.IntN(2) == 0 {
			r.MaxAttempts, r.ParkKeep = 1+p.random.IntN(3), p.duration()
		}
		_, v, err := p.row.Claim(r, now)
		w, wantErr := p.mem.Claim(ctx, r)
		return fmt.Sprintf("claim %d", i), fmt.Sprint(v, err), fmt.Sprint(w, wantErr)
	case 3:
		was := p.row.Status == sqlrecord.Consumed && !p.row.Absent(now)
		found := p.row.Complete(token, d, now)
		w, err := p.mem.Complete(ctx, p.key, token, d)
		if was && found == store.AlreadyDone { // a row remembers who was first, memstore who was last
			found = store.Completed
		}
		if was && w == store.AlreadyDone {
			w = store.Completed
		}
		return fmt.Sprintf("complete %d", i), fmt.Sprint(found, nil), fmt.Sprint(w, err)
	case 4:
		_, err := p.row.Release(token, ran, now)
		return fmt.Sprintf("release %d %v", i, ran), fmt.Sprint(err), fmt.Sprint(p.mem.Release(ctx, p.key, token, ran))
	case 5:
		_, err := p.row.Park(token, d, now)
		return fmt.Sprintf("park %d", i), fmt.Sprint(err), fmt.Sprint(p.mem.Park(ctx, p.key, token, d))
	case 6:
		_, err := p.row.Renew(token, now)
		return fmt.Sprintf("renew %d", i), fmt.Sprint(err),
			fmt.Sprint(p.mem.Renew(ctx, []store.Claim{{Key: p.key, Token: token}})[0])
	}
	n, err := p.row.Draw(token, now)
	w, wantErr := p.mem.Fence(ctx, p.key, token)
	if err == nil && n >= w && n > p.drawn { // the row remembers longer
		p.drawn, w = n, n
	}
	return fmt.Sprintf("fence %d", i), fmt.Sprint(n, err), fmt.Sprint(w, wantErr)
}

// duration is one that rows and memstore measure alike, often the same.
func (p *pair) duration() time.Duration {
	return time.Duration(1+p.random.IntN(20)) * 10 * time.Millisecond
}

// wellFormed wants the row to be one that a table may hold.
func (p *pair) wellFormed(t *testing.T) {
	t.Helper()
	r, now := p.row, time.Now().UnixMilli()
	if r.Absent(now) {
		return
	}
	life := map[string]int64{
		sqlrecord.Consuming: r.Lease + r.Horizon, sqlrecord.Released: r.Horizon,
		sqlrecord.Consumed: r.Keep, sqlrecord.Parked: r.Keep,
	}[r.Status]
	if r.Expires > now+life || life == 0 || r.Attempts < 0 || r.Fence != p.drawn {
		t.Fatalf("got %+v at %d, want an expiry within its life, no negative attempts and the number %d", r, now, p.drawn)
	}
}
