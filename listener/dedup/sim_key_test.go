package dedup

import "time"

// simKey is one key: its record, and what is really so.
type simKey struct {
	id      int
	record  simRecord
	earlier simRecord // before its last change, which a failover can bring back

	most     int  // MaxAttempts
	poison   bool // its callback never succeeds
	fatal    bool // its callback ends the process
	verified bool // it has a Verifier

	effects    int            // callbacks that succeeded
	buried     int            // copies that became dead letters
	deliveries []*simDelivery // that have not ended
	doneUntil  time.Duration  // by the store's clock, what completes were promised
	attempts   int            // grants that were not given back, within the record's memory
	starts     int            // callbacks that were started under a claim, within the record's memory
	given      int            // the token of the last release, 0 if anything came after it
	holder     int            // the token that was granted last, 0 if its claim has ended
	heldUntil  time.Duration  // the end of its lease by the store's clock
	excuse     string         // why it may run again although it was done
}

// forgotten says that the record's memory is over.
func (k *simKey) forgotten() { k.attempts, k.starts, k.given, k.holder = 0, 0, 0, 0 }

func (k *simKey) completed(until time.Duration) {
	k.forgotten()
	k.doneUntil, k.excuse = max(k.doneUntil, until), ""
}

// rob marks whoever runs in the shelter of the record: under its claim, or
// because done keeps others away. Once it is lost others may run as well.
func (k *simKey) rob(why string) {
	for _, d := range k.deliveries {
		if k.record.state == 'D' || k.record.state == 'P' && k.record.token == d.token {
			d.robbed = why
		}
	}
}

// simDisaster is what a store does that breaks its own promises. Each relaxes
// the invariants that it must, for the keys that it meets, and no other.
type simDisaster struct{ s *sim }

// strike lets one happen, if this seed has it.
func (x simDisaster) strike() {
	s := x.s
	switch s.rng.IntN(3) {
	case 0:
		if s.plan.losses {
			x.lose(s.keys[s.rng.IntN(len(s.keys))], simRecord{}, "loss")
		}
	case 1:
		if s.plan.losses {
			for _, k := range s.keys {
				x.lose(k, k.earlier, "failover")
			}
		}
	case 2:
		if s.plan.jumps {
			x.jump()
		}
	}
}

// lose puts an earlier record, or none, in the place of the record.
func (x simDisaster) lose(k *simKey, r simRecord, why string) {
	if k.record == r {
		return
	}
	x.s.note("key %d: %s: %c becomes %c", k.id, why, k.record.state|' ', r.state|' ')
	x.s.tally["records lost"]++
	k.rob(why)
	switch {
	case r.state == 'D':
		k.doneUntil = min(k.doneUntil, r.expires)
	case k.record.state == 'D':
		k.doneUntil, k.excuse = 0, why
	}
	k.record, k.earlier = r, simRecord{}
	k.forgotten()
	k.attempts = r.attempt
}

// jump sets the store's clock forward or back. Back, it takes nothing away: a
// record that then has too long to live gets a new expiry when it is met.
func (x simDisaster) jump() {
	s := x.s
	by := s.between(-2*simKeep, 2*simKeep)
	if s.chance(50) {
		by = s.between(-2*s.plan.lease, 2*s.plan.lease)
	}
	s.note("the store's clock jumps by %v", by)
	s.tally["clock jumps"]++
	for _, k := range s.keys {
		over := k.doneUntil > 0 && k.record.expires <= s.store.now()+by
		if over {
			k.doneUntil, k.excuse = 0, "jump"
		}
		if over || by > 0 && s.store.leased(&k.record) > 0 {
			k.rob("jump")
		}
	}
	s.store.skew += by
}
