package mysqlstore_test

import (
	"database/sql"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// possession counts the owners of keys, and reports a second one.
type possession struct {
	t    *testing.T
	mu   sync.Mutex
	held map[store.Key]store.Token
}

func (p *possession) take(k store.Key, owner store.Token) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other, taken := p.held[k]; taken && other != owner {
		p.t.Errorf("key %s has two owners at once", k.ID)
	}
	p.held[k] = owner
}

func (p *possession) give(k store.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, k)
}

func TestCallersAndASweepNeitherDeadlockNorShareAKey(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for _, isolation := range isolations {
			for name, hot := range map[string]int{"hot keys": 12, "disjoint keys": 0} {
				t.Run(name+" "+isolation, func(t *testing.T) {
					t.Parallel()
					stores, db := crowd(t, address, isolation, 4, mysqlstore.New)
					swept := sweeping(t, stores[0])
					l := &load{possession{t: t, held: map[store.Key]store.Token{}}, newKeys(hot), atomic.Int64{}}
					l.run(stores)
					if swept() == 0 || l.granted.Load() == 0 {
						t.Errorf("%d records swept and %d claims granted, want more than 0", swept(), l.granted.Load())
					}
					t.Logf("%d claims granted, %d records swept, %d deadlocks in the server so far",
						l.granted.Load(), swept(), serverDeadlocks(t, db))
				})
			}
		}
	})
}

// sweeping removes expired records until the test ends.
func sweeping(t *testing.T, s *mysqlstore.Store) (swept func() int64) {
	var n atomic.Int64
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			removed, err := s.Sweep(within(t, ample), 50)
			if n.Add(int64(removed)); err != nil {
				t.Errorf("sweep: %v", err)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	var once sync.Once
	end := func() { once.Do(func() { close(stop); <-ended }) }
	t.Cleanup(end)
	return func() int64 { end(); return n.Load() }
}

type load struct {
	possession
	hot     []store.Key // none: every claim has a new key
	granted atomic.Int64
}

func (l *load) run(stores []*mysqlstore.Store) {
	const callers, rounds = 64, 12
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(c), 7))
			for range rounds {
				if s := stores[c%len(stores)]; c%4 == 3 {
					l.batch(s, random)
				} else {
					l.single(s, random)
				}
			}
		})
	}
	all.Wait()
}

func (l *load) request(random *rand.Rand) store.ClaimRequest {
	r := request(newKey(), store.NewToken())
	if len(l.hot) > 0 {
		r.Key = l.hot[random.IntN(len(l.hot))]
	}
	if random.IntN(2) == 0 {
		r.Horizon = time.Millisecond // so that the sweep finds it as soon as it is released
	}
	return r
}

func (l *load) single(s *mysqlstore.Store, random *rand.Rand) {
	r := l.request(random)
	v, err := s.Claim(within(l.t, ample), r)
	if !l.grants(r, v, err) {
		return
	}
	l.give(r.Key)
	if random.IntN(2) == 0 {
		err = s.Release(within(l.t, ample), r.Key, r.Token, true)
	} else {
		_, err = s.Complete(within(l.t, ample), r.Key, r.Token, time.Millisecond)
	}
	if err != nil {
		l.t.Errorf("settle: %v", err)
	}
}

func (l *load) batch(s *mysqlstore.Store, random *rand.Rand) {
	var all []store.ClaimRequest
	for range 8 {
		all = append(all, l.request(random))
	}
	var settled []store.Settlement
	for i, a := range s.ClaimBatch(within(l.t, ample), all) {
		if !l.grants(all[i], a.Verdict, a.Err) {
			continue
		}
		l.give(all[i].Key)
		one := store.Settlement{Claim: store.Claim{Key: all[i].Key, Token: all[i].Token}, Ran: true}
		if random.IntN(2) == 0 {
			one.Keep = time.Millisecond
		}
		settled = append(settled, one)
	}
	for _, a := range s.SettleBatch(within(l.t, ample), settled) {
		if a.Err != nil {
			l.t.Errorf("settle: %v", a.Err)
		}
	}
}

// grants reports whether the claim was granted, and takes the key if so.
func (l *load) grants(r store.ClaimRequest, v store.Verdict, err error) bool {
	switch {
	case err != nil:
		l.t.Errorf("claim: %v", err)
	case v.State == store.Claimed:
		l.granted.Add(1)
		l.take(r.Key, r.Token)
		return true
	case v.State != store.Busy && v.State != store.Done:
		l.t.Errorf("claim: got %v, want claimed, busy or done", v.State)
	}
	return false
}

// serverDeadlocks is how many deadlocks the server has undone, -1 if it does not tell.
func serverDeadlocks(t *testing.T, db *sql.DB) int64 {
	var name string
	n := int64(-1)
	err := db.QueryRowContext(within(t, ample), "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'").Scan(&name, &n)
	if err != nil {
		return -1 // MySQL does not
	}
	return n
}
