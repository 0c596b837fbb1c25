package dedup_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

func (p *post) Observe(context.Context, dedup.Event)        {}
func (p *post) ObserveLoss(_ context.Context, l dedup.Loss) { p.losses = append(p.losses, l) }
func (p *post) take() (losses []dedup.Loss)                 { losses, p.losses = p.losses, nil; return losses }
func (p *post) after(d time.Duration) []dedup.Loss          { time.Sleep(d); synctest.Wait(); return p.take() }
func (p *post) second() []dedup.Loss                        { return p.after(time.Second) }
func (p *post) deliver(t *testing.T, d dedup.Delivery) dedup.Result {
	return p.Deliver(t.Context(), d, succeed)
}

// lines are what was logged.
type lines struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// watch runs the watch of g until the result is called, at the latest until the
// test ends.
func watch(t *testing.T, g *dedup.Guard) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := g.Watch(ctx, "billing"); err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	end = func() { cancel(); running.Wait() }
	t.Cleanup(end)
	return end
}

func TestEveryLossIsSeenWithinASecondAndToldOnce(t *testing.T) {
	for name, c := range map[string]struct {
		parts   map[string]*server
		part    string
		strike  func(*server)
		want    dedup.Loss // but for part and server
		certain bool
	}{
		"a flush":                       {one(), "", func(s *server) { clear(s.numbers) }, dedup.Loss{Missing: 4}, true},
		"a failover that lost a second": {one(), "", func(s *server) { s.run = "r"; less(s, 1) }, dedup.Loss{Missing: 1, Replaced: true}, true},
		"a failover that lost nothing":  {one(), "", func(s *server) { s.run = "r" }, dedup.Loss{Replaced: true}, false},
		"a failover in a cluster":       {two(), "8192", func(s *server) { s.run = "r"; less(s, 2) }, dedup.Loss{Missing: 2, Replaced: true}, true},
		"an eviction":                   {one(), "", func(s *server) { s.evicted = 3 }, dedup.Loss{Evicted: 3}, false},
		"a clock that is set forward":   {one(), "", func(s *server) { s.clock = time.Hour }, dedup.Loss{Jump: time.Hour}, false},
		"a clock that is set back":      {two(), "0", func(s *server) { s.clock = -time.Hour }, dedup.Loss{Jump: -time.Hour}, false},
		"an heir whose clock is ahead": {one(), "", func(s *server) { s.run, s.clock = "r", time.Minute },
			dedup.Loss{Replaced: true, Jump: time.Minute}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := watching(t, c.parts)
				p.on(c.part, c.strike)
				got := p.second()
				c.want.Part, c.want.Server = c.part, "host-"+c.parts[c.part].run
				if !reflect.DeepEqual(got, []dedup.Loss{c.want}) || c.want.Certain() != c.certain {
					t.Errorf("got %+v, certain: %t; want %+v, %t", got, c.want.Certain(), c.want, c.certain)
				}
				level := "WARN"
				if c.certain {
					level = "ERROR"
				}
				lines := 2 // the other says that Verifiers are asked
				if c.want.Jump < 0 {
					lines = 1
				}
				if line := p.log.String(); strings.Count(line, "\n") != lines || !strings.Contains(line, "level="+level) ||
					!strings.Contains(line, c.want.Error()) || !strings.Contains(line, "server=host-") {
					t.Errorf("got the log %q, want %d lines, one of level %s that says %q", line, lines, level, c.want.Error())
				}
				if again := p.after(time.Minute); len(again) != 0 {
					t.Errorf("told again: %v", again)
				}
			})
		})
	}
}

func TestWhatLosesNothingIsNoLoss(t *testing.T) {
	for name, c := range map[string]struct {
		parts map[string]*server
		act   func(*testing.T, *post)
	}{
		"a clock that is corrected": {one(), func(_ *testing.T, p *post) {
			p.on("", func(s *server) { s.clock = 900 * time.Millisecond })
			p.after(10 * time.Second)
			p.on("", func(s *server) { s.clock = -time.Millisecond })
		}},
		"statistics that are reset": {one(), func(_ *testing.T, p *post) {
			p.on("", func(s *server) { s.evicted = 0 })
		}},
		"a long outage": {one(), func(_ *testing.T, p *post) {
			p.on("", func(s *server) { s.gone = true })
			p.after(2 * store.PulseKeep)
			p.on("", func(s *server) { s.gone = false; clear(s.numbers) }) // they have expired
		}},
		"replies that are lost": {one(), func(_ *testing.T, p *post) {
			p.fails(func(number int64) bool { return number%3 > 0 })
		}},
		"a pulse that arrives late": {one(), func(_ *testing.T, p *post) {
			p.fails(func(int64) bool { return true })
			p.second()
			p.fails(nil)
			p.second()
			p.on("", func(s *server) { less(s, 1) }) // the one that was given up
		}},
		"a slot that moves to another master": {two(), func(_ *testing.T, p *post) {
			p.on("0", func(s *server) { s.run = "b"; s.clock = time.Hour })
		}},
		"a new master that takes slots": {two(), func(_ *testing.T, p *post) {
			p.mu.Lock()
			p.parts["64"] = newServer("a")
			p.parts["0"].run = "c"
			p.mu.Unlock()
		}},
		"a part that comes and goes": {two(), func(_ *testing.T, p *post) {
			p.mu.Lock()
			old := p.parts["8192"]
			delete(p.parts, "8192")
			p.mu.Unlock()
			p.second()
			p.mu.Lock()
			p.parts["8192"] = old
			less(old, 1)
			p.mu.Unlock()
		}},
		"a start beside others": {one(), func(t *testing.T, p *post) {
			g := watchedBy(t, p.servers, p, &p.log)
			end := watch(t, g)
			p.second()
			end()
			p.end()
			p.after(10 * time.Second)
			watch(t, g)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := watching(t, c.parts)
				p.on(slices.Min(slices.Collect(maps.Keys(c.parts))), func(s *server) { s.evicted = 5 })
				p.second()
				p.after(2 * time.Minute)
				c.act(t, p)
				if got := p.after(10 * time.Second); len(got) != 0 || p.Healthy() != nil {
					t.Errorf("got %v and %v, want nothing", got, p.Healthy())
				}
			})
		})
	}
}

func TestTwoNodesDoNotHideEachOthersLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := watching(t, one())
		q := &post{servers: p.servers}
		q.Guard = watchedBy(t, p.servers, q, &q.log)
		watch(t, q.Guard)
		q.after(3 * time.Second)
		p.on("", func(s *server) { less(s, 1) }) // each has sent two more before it is asked
		if a, b := p.second(), q.take(); len(a) != 1 || len(b) != 1 || a[0].Missing != 1 || b[0].Missing != 1 {
			t.Errorf("got %v and %v, want one pulse missed by each", a, b)
		}
	})
}

func TestALossMakesUnhealthyForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := watching(t, one())
		p.on("", func(s *server) { clear(s.numbers) })
		p.second()
		p.after(59 * time.Second)
		var l dedup.Loss
		if err := p.Healthy(); !errors.As(err, &l) || !l.Certain() {
			t.Errorf("got %v, want the certain loss", err)
		}
		p.after(time.Second)
		if err := p.Healthy(); err != nil {
			t.Errorf("got %v after a minute", err)
		}
	})
}

func TestAfterALossTheVerifierIsAskedAboutFirstAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		strike func(*server)
		asked  bool
	}{
		"a flush":                     {func(s *server) { clear(s.numbers) }, true},
		"a failover":                  {func(s *server) { s.run = "r" }, true},
		"a clock that is set forward": {func(s *server) { s.clock = time.Hour }, true},
		"a clock that is set back":    {func(s *server) { s.clock = -time.Hour }, false},
		"nothing":                     {func(*server) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := watching(t, one())
				p.on("", c.strike)
				p.second()
				var asked atomic.Int32
				d := dedup.Delivery{Key: key("1"), Policy: short()}
				d.Policy.Keep, d.Policy.Horizon = 4*time.Hour, time.Hour
				d.Policy.Verifier = func(context.Context, store.Key) (dedup.Finding, error) {
					asked.Add(1)
					return dedup.Happened, nil
				}
				outcome, questions := dedup.Ran, int32(0)
				if c.asked {
					outcome, questions = dedup.Skipped, 3
				}
				p.after(4*time.Hour - 2*time.Second)
				want(t, p.deliver(t, d), outcome, nil)
				batch := []dedup.Delivery{ofKey("2", d), ofKey("3", d)}
				for _, r := range p.DeliverTogether(t.Context(), batch, func(context.Context, []int) error { return nil }) {
					want(t, r, outcome, nil)
				}
				p.after(4 * time.Second) // whatever was there before has ended by itself
				want(t, p.deliver(t, ofKey("4", d)), dedup.Ran, nil)
				if got := asked.Load(); got != questions {
					t.Errorf("asked %d times, want %d", got, questions)
				}
			})
		})
	}
}

func TestOneThatStartsAfterALossAsksTheVerifierToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := watching(t, one())
		p.fails(func(number int64) bool { return number == 6 }) // tells it first
		p.on("", func(s *server) { clear(s.numbers) })
		p.after(3 * time.Second)
		p.end()
		p.fails(nil)
		p.after(time.Hour)
		next := &post{servers: p.servers}
		next.Guard = watchedBy(t, p.servers, next, &next.log)
		watch(t, next.Guard)
		if got := next.second(); len(got) != 0 || next.Healthy() != nil {
			t.Errorf("got %v and %v, want no loss of its own", got, next.Healthy())
		}
		if log := next.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "ago=1h0m") {
			t.Errorf("got the log %q, want one line that tells since when", log)
		}
		d := dedup.Delivery{Key: key("1"), Policy: short()}
		d.Policy.Keep, d.Policy.Horizon = 2*time.Hour, time.Hour
		d.Policy.Verifier = func(context.Context, store.Key) (dedup.Finding, error) { return dedup.Happened, nil }
		want(t, next.deliver(t, d), dedup.Skipped, nil)
		next.after(time.Hour)
		want(t, next.deliver(t, ofKey("2", d)), dedup.Ran, nil)
	})
}

func ofKey(id string, d dedup.Delivery) dedup.Delivery {
	d.Key = key(id)
	return d
}

func TestAnOutageIsNoLossAndIsToldSometimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := watching(t, one())
		p.on("", func(s *server) { s.gone = true })
		got := p.after(25 * time.Second)
		if lines := strings.Count(p.log.String(), "cannot be watched now"); len(got) != 0 || lines != 3 {
			t.Errorf("got %v and %d lines in 25 s, want no loss and 3", got, lines)
		}
		p.on("", func(s *server) { s.gone = false; s.run = "r" })
		if got := p.after(100 * time.Millisecond); len(got) != 1 || !got[0].Replaced {
			t.Errorf("got %v, want the other process to be seen as soon as it answers", got)
		}
	})
}

func TestEvictionsThatGoOnAreLoggedSometimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := watching(t, one())
		for range 25 {
			p.on("", func(s *server) { s.evicted++ })
			if got := p.second(); len(got) != 1 || got[0].Evicted != 1 {
				t.Fatalf("got %v, want one eviction told each second", got)
			}
		}
		if lines := strings.Count(p.log.String(), "want of memory"); lines != 3 {
			t.Errorf("got %d lines in 25 s, want 3", lines)
		}
	})
}

func TestAWatchSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	p := &post{}
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bare := watchedBy(t, struct{ store.Store }{mem}, p, &p.log)
	if err := bare.Watch(t.Context(), "billing"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without a pulse: got %v, want ErrUnsupported", err)
	}
	if err := watchedBy(t, mem, p, &p.log).Watch(t.Context(), ""); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("without an application: got %v, want ErrInvalid", err)
	}
}

func TestAnObserverThatPanicsDoesNotEndTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{servers: &servers{parts: one()}}
		watch(t, watchedBy(t, p.servers, panicky{}, &p.log))
		for range 2 {
			p.second()
			p.on("", func(s *server) { clear(s.numbers) })
		}
		p.second()
		if got := strings.Count(p.log.String(), "observer panicked"); got != 2 {
			t.Errorf("got %d panics logged, want 2", got)
		}
	})
}

type panicky struct{ dedup.ObserverFunc }

func (panicky) ObserveLoss(context.Context, dedup.Loss) { panic("of the observer") }
