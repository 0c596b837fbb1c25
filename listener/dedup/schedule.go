package dedup

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// renewCoalesce is how close renewals must be due to travel in one call.
const renewCoalesce = 50 * time.Millisecond

// schedule wakes every running claim when its machine asks for it: to renew, to
// cancel its callback, or to count it as orphaned. It owns one timer, armed
// only while there are runs, and renews in batches.
type schedule struct {
	guard *Guard

	mu       sync.Mutex // guards all below, and the slot and wakeAt of every run
	queue    runQueue
	timer    *time.Timer
	armed    time.Duration // when the timer fires
	orphaned int
}

func newSchedule(g *Guard) *schedule { return &schedule{guard: g, armed: never} }

func (s *schedule) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Running: len(s.queue), Orphaned: s.orphaned}
}

func (s *schedule) add(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push(r)
	s.arm()
}

// addAll gives those members that have a claim a context, and adds them.
func (s *schedule) addAll(ctx context.Context, members []*member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		if m.granted() {
			s.guard.enter(ctx, &m.run)
			s.push(&m.run)
		}
	}
	s.arm()
}

// removeAll is remove for those members that were added.
func (s *schedule) removeAll(members []*member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range members {
		if m.entered() {
			s.pull(&m.run)
		}
	}
	s.disarm()
}

// push queues r. The caller holds mu, and arms.
func (s *schedule) push(r *run) {
	r.wakeAt = r.machine.wake()
	heap.Push(&s.queue, r)
}

// remove forgets r. Afterwards its machine is not stepped by the schedule any
// more, apart from one tick or renewal that may be on its way.
func (s *schedule) remove(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pull(r)
	s.disarm()
}

// pull takes r out of the queue. The caller holds mu, and disarms.
func (s *schedule) pull(r *run) {
	heap.Remove(&s.queue, r.slot)
	if r.orphaned {
		s.orphaned--
	}
	if r.renewal != nil {
		r.renewal.leave()
	}
}

// disarm stops the timer when nothing waits for it. The caller holds mu.
func (s *schedule) disarm() {
	if len(s.queue) == 0 && s.timer != nil {
		s.timer.Stop()
		s.armed = never
	}
}

// arm sets the timer to the first wake-up. The caller holds mu.
func (s *schedule) arm() {
	if len(s.queue) == 0 || s.queue[0].wakeAt >= s.armed {
		return
	}
	s.armed = s.queue[0].wakeAt
	wait := s.armed - s.guard.now()
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.fire)
		return
	}
	s.timer.Reset(wait)
}

// fire ticks every run that is due. The timer is armed again before the store
// is called, so that a slow renewal holds up no other.
func (s *schedule) fire() {
	now := s.guard.now()
	renew := map[time.Duration][]*run{} // by the time that the call may take
	for _, r := range s.due(now) {
		if s.tick(r, now) {
			timeout := min(s.guard.options.CallTimeout, r.machine.policy.Lease/3)
			renew[timeout] = append(renew[timeout], r)
		}
	}
	s.mu.Lock()
	s.armed = never
	s.arm()
	s.mu.Unlock()
	for timeout, runs := range renew {
		go s.renew(timeout, runs)
	}
}

// due takes the runs out of order that want to be woken by about now.
func (s *schedule) due(now time.Duration) []*run {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*run
	for len(s.queue) > 0 && s.queue[0].wakeAt <= now+renewCoalesce {
		r := s.queue[0]
		r.wakeAt = never
		heap.Fix(&s.queue, 0)
		due = append(due, r)
	}
	return due
}

// tick asks r what to do and reports whether it wants a renewal.
func (s *schedule) tick(r *run, now time.Duration) (renew bool) {
	for {
		act, wake := r.step(input{kind: inTick, now: now})
		switch act.kind {
		case actRenew:
			renew = true
		case actCancel:
			r.ctx.cancel(act.cause)
		case actOrphan:
			s.orphan(r)
		default:
			s.reschedule(r, wake)
			return renew
		}
	}
}

func (s *schedule) orphan(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.slot < 0 {
		return
	}
	r.orphaned = true
	s.orphaned++
}

func (s *schedule) reschedule(r *run, wake time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.slot < 0 {
		return
	}
	r.wakeAt = wake
	heap.Fix(&s.queue, r.slot)
	s.arm()
}

func (s *schedule) renew(timeout time.Duration, runs []*run) {
	claims := make([]store.Claim, len(runs))
	for i, r := range runs {
		claims[i] = store.Claim{Key: r.key, Token: r.token}
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	s.join(runs, &renewal{wanted: len(runs), cancel: cancel})
	sent := s.guard.now()
	errs := s.guard.renewer.Renew(ctx, claims)
	now := s.guard.now()
	s.join(runs, nil)
	for i, r := range runs {
		err := errNoVerdict
		if i < len(errs) {
			err = errs[i]
		}
		act, wake := r.step(input{kind: inRenewed, now: now, sent: sent, err: err})
		if act.kind == actCancel {
			r.ctx.cancel(act.cause)
		}
		s.reschedule(r, wake)
	}
}

// renewal is a call on its way. It is given up when nobody waits for it any more.
type renewal struct {
	wanted int // by so many runs; guarded by schedule.mu
	cancel context.CancelFunc
}

func (b *renewal) leave() {
	if b.wanted--; b.wanted == 0 {
		b.cancel()
	}
}

// join makes b the renewal of all runs; those that have ended leave it at once.
func (s *schedule) join(runs []*run, b *renewal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		r.renewal = b
		if b != nil && r.slot < 0 {
			b.leave()
		}
	}
}

// runQueue is a heap of runs by wakeAt.
type runQueue []*run

func (q runQueue) Len() int           { return len(q) }
func (q runQueue) Less(i, j int) bool { return q[i].wakeAt < q[j].wakeAt }

func (q runQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].slot, q[j].slot = i, j
}

func (q *runQueue) Push(x any) {
	r := x.(*run)
	r.slot = len(*q)
	*q = append(*q, r)
}

func (q *runQueue) Pop() any {
	old := *q
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	r.slot = -1
	return r
}
