package listenertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var errCrashed = errors.New("the process has crashed")

// process is one life of the program under test.
type process struct {
	run      *Run
	number   int // from 1
	consumer *Consumer

	dead   bool          // guarded by run.mu
	claims []store.Claim // that were granted since the last lapse; guarded by run.mu
}

func newProcess(r *Run, number int) *process {
	return &process{run: r, number: number, consumer: &Consumer{shared: &r.log}}
}

func (p *process) crashed() bool {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	return p.dead
}

// lapse ends the leases of all claims of p, as time would: it gives them back as
// claims under which a callback has run. Those that have ended stay as they are.
func (p *process) lapse() {
	p.run.mu.Lock()
	claims := p.claims
	p.claims = nil
	p.run.mu.Unlock()
	for _, c := range claims {
		err := p.run.Records.Release(context.Background(), c.Key, c.Token, true)
		if err != nil && !errors.Is(err, store.ErrNotOwner) {
			p.run.fail(fmt.Errorf("ending the claim of %v: %w", c.Key, err))
		}
	}
}

// deliver delivers msgs to p. The answer of a process that has died is lost.
func (p *process) deliver(msgs []*primitive.MessageExt) Answer {
	t := &turn{process: p, msgs: msgs}
	p.run.mu.Lock()
	p.run.turns = append(p.run.turns, t)
	p.run.mu.Unlock()
	a := p.consumer.deliver(context.WithValue(context.Background(), turnKey{}, t), msgs)
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	if p.dead {
		t.end = Unanswered.String()
		return Answer{Err: errCrashed}
	}
	t.end = a.String()
	return a
}

// turn is one delivery of a run.
type turn struct {
	process *process
	msgs    []*primitive.MessageExt

	steps []string // what happened; guarded by run.mu
	end   string   // guarded by run.mu
}

type turnKey struct{}

// turnOf is the delivery that ctx belongs to, or else the latest one.
func (r *Run) turnOf(ctx context.Context) *turn {
	if t, ok := ctx.Value(turnKey{}).(*turn); ok {
		return t
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.turns) == 0 {
		return &turn{process: newProcess(r, 0)}
	}
	return r.turns[len(r.turns)-1]
}

func (t *turn) note(step string) {
	t.process.run.mu.Lock()
	defer t.process.run.mu.Unlock()
	t.steps = append(t.steps, step)
}

// die ends the process: from now on it has no effect and reaches no store.
func (t *turn) die() {
	t.note("crash")
	t.process.run.mu.Lock()
	defer t.process.run.mu.Unlock()
	t.process.dead = true
}

// crash ends the process, and with it the calling goroutine.
func (t *turn) crash() {
	t.die()
	runtime.Goexit()
}

func (t *turn) panic() {
	t.note("panic")
	panic("listenertest: " + t.process.run.String())
}

// exitIfDead keeps a process that has died from having further effects.
func (t *turn) exitIfDead() {
	if t.process.crashed() {
		runtime.Goexit()
	}
}

// trace is one line for each delivery.
func (r *Run) trace() (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, t := range r.turns {
		steps := slices.Concat(t.steps, []string{t.end})
		lines = append(lines, fmt.Sprintf("delivery %d, process %d: %s", i+1, t.process.number, strings.Join(steps, ", ")))
	}
	return lines
}
