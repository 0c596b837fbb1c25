package redisstore_test

import (
	"slices"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// simOwner is a consumer: one delivery after the other, one call at a time.
type simOwner struct {
	s                    *sim
	id                   int
	fast                 bool // takes the fast path
	lease, horizon, keep time.Duration

	phase  simPhase
	token  store.Token
	sent   time.Duration // when the call that claims began
	until  time.Duration // until when it believes to hold the key while it runs
	longer int64         // what its complete has overwritten
}

type simPhase string

const (
	simIdle       simPhase = "idle"
	simClaiming   simPhase = "claiming"
	simRunning    simPhase = "running"
	simCompleting simPhase = "completing"
	simReleasing  simPhase = "releasing"
)

func (s *sim) newOwner(id int) *simOwner {
	return &simOwner{
		s: s, id: id, fast: s.random.IntN(4) > 0, phase: simIdle, token: store.NewToken(),
		lease: s.hours(4), horizon: s.hours(6), keep: s.hours(20),
	}
}

// act lets the owner do what it may do by itself.
func (o *simOwner) act() {
	switch p := o.s.random.IntN(10); {
	case o.phase == simIdle && o.s.blind && p < 9:
		o.token = store.NewToken()
		o.complete()
	case o.phase == simIdle:
		o.begin()
	case o.phase != simRunning || p < 3:
		o.goOn()
	case p < 6:
		o.complete()
	case p < 9:
		o.release()
	default:
		o.end("ends without a word")
	}
}

// stop lets the owner finish what it does.
func (o *simOwner) stop() {
	o.goOn()
	if o.phase == simRunning {
		o.release()
	}
}

func (o *simOwner) end(why string) {
	o.s.note("%d %s", o.id, why)
	o.phase = simIdle
}

// begin is a new delivery.
func (o *simOwner) begin() {
	if o.s.rules.newToken {
		o.token = store.NewToken()
	}
	o.phase, o.sent = simClaiming, o.s.now
	o.goOn()
}

// goOn sends what the owner has to send next, if nothing of it is on the way and
// no copy of its claim makes it wait.
func (o *simOwner) goOn() {
	if o.phase == simIdle || o.phase == simRunning || o.onWire((*simMessage).awaited) {
		return
	}
	left := o.onWire((*simMessage).unresolved)
	switch {
	case o.phase == simClaiming && !(left && o.s.rules.claimWaits):
		o.sendClaim(o.fast)
	case o.phase == simReleasing && !(left && o.s.rules.releaseWaits):
		o.sendScript("release", redisstore.ReleaseLua, 1)
	}
}

func (o *simOwner) onWire(is func(*simMessage) bool) bool {
	return slices.ContainsFunc(o.s.wire, func(m *simMessage) bool { return m.token == o.token && is(m) })
}

func (o *simOwner) sendClaim(fast bool) {
	if fast {
		o.send("fast claim", o.s.rules.claim(o.s.name, o.token, o.lease.Milliseconds(), o.horizon.Milliseconds()))
		return
	}
	o.sendScript("claim", redisstore.ClaimLua, o.lease.Milliseconds(), o.horizon.Milliseconds(), 0, 0)
}

func (o *simOwner) complete() {
	o.phase, o.longer = simCompleting, 0
	if o.fast {
		o.send("fast complete", redisstore.FastComplete(o.s.name, o.token, o.keep.Milliseconds()))
		return
	}
	o.sendScript("complete", redisstore.CompleteLua, o.keep.Milliseconds())
}

func (o *simOwner) release() {
	o.phase = simReleasing
	o.goOn()
}

func (o *simOwner) sendScript(what, source string, numbers ...int64) {
	command := []any{"eval", source, 1, o.s.name, o.token.String()}
	for _, n := range numbers {
		command = append(command, n)
	}
	o.send(what, command)
}

func (o *simOwner) send(what string, command []any) {
	o.s.wire = append(o.s.wire, &simMessage{
		o: o, token: o.token, what: what, command: command, slow: o.s.random.IntN(8) == 0,
	})
}

// replied takes the reply to a message that the owner waits for.
func (o *simOwner) replied(m *simMessage) {
	switch m.what {
	case "fast claim":
		if answer := o.s.rules.judgeClaim(m.met, m.found, o.token.String()); answer != nil {
			o.verdict(m, answer[0])
			return
		}
		o.sendClaim(false)
	case "claim":
		o.verdict(m, m.answer)
	case "fast complete":
		_, o.longer = o.s.rules.judgeComplete(o.token.String(), o.keep.Milliseconds(), m.met, m.found)
		if o.longer > 0 {
			o.sendScript("prolong", o.s.rules.prolong, o.longer)
			return
		}
		o.ended("has completed")
	case "complete", "prolong":
		o.ended("has completed")
	case "release":
		o.ended("has released")
	}
}

func (o *simOwner) ended(how string) {
	o.s.over[o.token] = true
	o.end(how)
}

// verdict is what the owner is told of its claim: 1 claimed, 3 done.
func (o *simOwner) verdict(m *simMessage, state int64) {
	switch state {
	case 1:
		o.s.granted++
		o.phase, o.until = simRunning, o.sent+o.lease
		o.s.note("%d is told that it holds the key until %.2fh", o.id, o.until.Hours())
		if m.leaseEnd+tolerance < o.until {
			o.s.fail("%d believes in a lease until %.2fh, which ends at %.2fh", o.id, o.until.Hours(), m.leaseEnd.Hours())
		}
	case 3:
		if simKind(m.before) != "D" {
			o.s.fail("%d is told that the key is done, which was %q", o.id, m.before)
		}
		o.end("is told that the key is done")
	default:
		o.end("is told no")
	}
}

// lost tells the owner that there will be no reply. It repeats the call, for
// which the fast path is gone.
func (o *simOwner) lost(m *simMessage) {
	o.s.note("%d gets no reply to its %s", o.id, m.what)
	switch m.what {
	case "fast claim", "claim":
		o.sendClaim(false)
	case "fast complete", "complete":
		o.s.excuse()
		o.sendScript("complete", redisstore.CompleteLua, o.keep.Milliseconds())
	case "prolong":
		o.s.excuse()
		o.ended("gives up its second step")
	default:
		o.sendScript("release", redisstore.ReleaseLua, 1)
	}
}
