package storetest

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var pulseCases = []Case{{
	Name:  "a pulse answers the number of the one before",
	Why:   "records that a failover lost would go unnoticed, or every start would look like a loss",
	needs: pulser,
	run: func(x *trial) {
		node := store.NewToken()
		x.pulse(x.app, node, 7, 0)
		x.pulse(x.app, node, 8, 7)
		x.pulse(x.app, node, 12, 8)
		x.pulse(x.app, node, 13, 12)
	},
}, {
	Name:  "every node of every application counts its pulses alone",
	Why:   "the pulses of one node would fill the gap that the loss of another's has left",
	needs: pulser,
	run: func(x *trial) {
		a, b := store.NewToken(), store.NewToken()
		x.pulse(x.app, a, 100, 0)
		x.pulse(x.app, b, 1, 0)
		x.pulse(x.app+":", a, 50, 0)
		x.pulse(x.app, b, 2, 1)
		x.pulse(x.app, a, 101, 100)
		x.pulse(x.app+":", a, 51, 50)
	},
}, {
	Name:  "a pulse is remembered for PulseKeep",
	Why:   "a node that was cut off for a while would report a loss that never happened",
	needs: pulser,
	run: func(x *trial) {
		node := store.NewToken()
		x.pulse(x.app, node, 1, 0)
		if x.h.FakeTime {
			x.wait(store.PulseKeep - x.h.Unit)
		}
		x.pulse(x.app, node, 2, 1)
	},
}, {
	Name:  "the same server answers pulses with the same run and counts what it evicts",
	Why:   "every pulse would look like a failover, or an eviction",
	needs: pulser,
	run: func(x *trial) {
		node := store.NewToken()
		first := x.pulse(x.app, node, 1, 0)
		for number := range int64(3) {
			for part, b := range x.pulse(x.app, node, number+2, number+1) {
				was := first[part]
				if b.Run == "" || b.Run != was.Run || b.Evicted < was.Evicted || was.Evicted < 0 {
					x.failf("pulse: got run %q and %d evicted after %q and %d", b.Run, b.Evicted, was.Run, was.Evicted)
				}
			}
		}
	},
}, {
	Name:  "a pulse tells the time of the store",
	Why:   "a server clock that is set ends records early, and nobody would notice",
	needs: pulser,
	run: func(x *trial) {
		node, from := store.NewToken(), time.Now()
		first := x.pulse(x.app, node, 1, 0)
		answered := time.Now()
		x.wait(2 * x.h.Unit)
		sent := time.Now()
		for part, b := range x.pulse(x.app, node, 2, 1) {
			passed := b.Time.Sub(first[part].Time)
			if low, high := sent.Sub(answered)-x.slack(), time.Since(from)+x.slack(); passed < low || passed > high {
				x.failf("between two pulses the store's clock went on by %v, want %v to %v", passed, low, high)
			}
		}
	},
}, {
	Name:  "every node of an application is told since when its records are in doubt",
	Why:   "a consumer that starts after a loss would run what the others have finished",
	needs: pulser,
	run: func(x *trial) {
		a := store.Pulse{Application: x.app, Node: store.NewToken(), Number: 1}
		other, stranger := a, a
		other.Node = store.NewToken()
		stranger.Application += ":"
		x.doubted(a, time.Time{}, time.Time{})
		from := time.Now()
		a.Number, a.Doubt = 2, true
		x.ask(a)
		to := time.Now()
		x.wait(2 * x.h.Unit)
		a.Number, a.Doubt = 3, false
		x.doubted(a, from, to)
		x.doubted(other, from, to)
		x.doubted(stranger, time.Time{}, time.Time{})
	},
}, {
	Name:  "a later doubt takes the place of an earlier one",
	Why:   "the records of before the second loss would pass for certain too early",
	needs: pulser,
	run: func(x *trial) {
		p := store.Pulse{Application: x.app, Node: store.NewToken(), Number: 1, Doubt: true}
		x.ask(p)
		x.wait(3 * x.h.Unit)
		from := time.Now()
		p.Number = 2
		x.ask(p)
		p.Number, p.Doubt = 3, false
		x.doubted(p, from, time.Now())
	},
}, {
	Name:     "an invalid pulse is refused",
	Sentence: 7,
	Why:      "nodes without a token would count together, and each hide the other's loss",
	needs:    pulser,
	run: func(x *trial) {
		node := store.NewToken()
		for what, p := range map[string]store.Pulse{
			"no application": {Node: node, Number: 1},
			"a zero node":    {Application: x.app, Number: 1},
			"number 0":       {Application: x.app, Node: node},
		} {
			_, err := x.store.(store.Pulser).Pulse(x.ctx, p)
			x.wantError("pulse with "+what, err, store.ErrInvalid)
		}
	},
}}

// pulse wants every part to have remembered the number before, and returns the
// beats by part.
func (x *trial) pulse(application string, node store.Token, number, before int64) map[string]store.Beat {
	beats := x.ask(store.Pulse{Application: application, Node: node, Number: number})
	for part, b := range beats {
		if b.Before != before {
			x.failf("pulse %d: part %q remembered %d, want %d", number, part, b.Before, before)
		}
	}
	return beats
}

// doubted sends a pulse and wants every part to tell of a doubt that began
// between from and to, or of none if they are zero.
func (x *trial) doubted(p store.Pulse, from, to time.Time) {
	sent, least, most := time.Now(), time.Duration(-1), time.Duration(-1)
	beats := x.ask(p)
	if !from.IsZero() {
		least, most = max(0, sent.Sub(to)-x.slack()), time.Since(from)+x.slack()
	}
	for part, b := range beats {
		if b.Doubt < least || b.Doubt > most {
			x.failf("pulse: part %q tells of a doubt %v ago, want %v to %v", part, b.Doubt, least, most)
		}
	}
}

func (x *trial) ask(p store.Pulse) map[string]store.Beat {
	if x.err != nil {
		return nil
	}
	beats, err := x.store.(store.Pulser).Pulse(x.ctx, p)
	if x.failed("pulse", err) {
		return nil
	}
	byPart := map[string]store.Beat{}
	for _, b := range beats {
		byPart[b.Part] = b
	}
	if len(beats) == 0 || len(byPart) != len(beats) {
		x.failf("pulse: got %d beats for %d parts", len(beats), len(byPart))
	}
	return byPart
}
