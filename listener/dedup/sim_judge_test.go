package dedup

import (
	"errors"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// simJudge holds what happens against the invariants of DESIGN.md.
type simJudge struct{ s *sim }

// broken ends the run.
func (j *simJudge) broken(invariant, format string, args ...any) {
	if j.s.violation == "" {
		j.s.violation = invariant + ": " + fmt.Sprintf(format, args...)
		j.s.note("BROKEN: %s", j.s.violation)
	}
}

// grants is asked before the store grants a claim.
func (j *simJudge) grants(k *simKey, token, attempt int, lease time.Duration) {
	if j.s.store.now() < k.doneUntil {
		j.broken("done stays done", "key %d is claimed %v before its keep ends", k.id, k.doneUntil-j.s.store.now())
	}
	if k.given == token {
		j.broken("released stays released", "a late copy of a claim of key %d is granted", k.id)
	}
	if k.record.state != 'P' || k.record.token != token {
		k.attempts++
	}
	if attempt != k.attempts {
		j.broken("attempts count", "key %d is granted as attempt %d, want %d", k.id, attempt, k.attempts)
	}
	k.given, k.holder, k.heldUntil = 0, token, j.s.store.now()+lease
}

// parks is asked before the store parks a key because of its attempts.
func (j *simJudge) parks(k *simKey, most int) {
	if k.attempts < most {
		j.broken("attempts count", "key %d is parked after %d attempts of %d", k.id, k.attempts, most)
	}
	j.s.tally["keys parked"]++
	k.given, k.holder = 0, 0
}

// owned is told of a renewal, release or park by token that the store accepted,
// and of what the record was before.
func (j *simJudge) owned(k *simKey, token int, before simRecord, leased time.Duration) {
	if before.token != token && leased > 0 {
		j.broken("late is harmless", "token %d ends the claim of token %d on key %d", token, before.token, k.id)
	}
}

// refuses is told of a renewal, release or park that the store refused.
func (j *simJudge) refuses(k *simKey, token int) {
	if k.holder != 0 && k.holder == token && j.s.store.now() < k.heldUntil {
		j.broken("one owner", "token %d is refused although it owns key %d", token, k.id)
	}
}

// answers is asked about every answer of a machine.
func (j *simJudge) answers(d *simDelivery, in input, a action) {
	if d.callback != nil && !d.callback.cancelled && errors.Is(in.err, store.ErrNotOwner) && a.kind != actCancel {
		j.broken("one owner", "the callback of key %d goes on although its claim is lost", d.key.id)
	}
}

// acts is asked before an answer is followed.
func (j *simJudge) acts(d *simDelivery, a action) {
	switch a.kind {
	case actRun, actComplete, actRelease, actPark, actJournal, actEnd:
		if d.callback != nil {
			j.broken("running is held", "action %d while the callback of key %d runs", a.kind, d.key.id)
		}
	}
}

// starts is asked before the callback of d starts.
func (j *simJudge) starts(d *simDelivery) {
	j.s.tally["callbacks"]++
	if d.key.effects > 0 {
		j.reruns(d)
	}
	if d.machine.result.Unprotected {
		return
	}
	if d.told != store.Claimed {
		j.broken("unknown is no", "key %d runs although its claim was answered %v", d.key.id, d.told)
	}
	if d.key.verified && d.machine.result.Attempt > 1 && d.found != NotHappened {
		j.broken("unknown is no", "key %d runs again although its Verifier could not tell", d.key.id)
	}
	if held := d.p.clock() - d.held; held > d.machine.policy.Lease*2/3 {
		j.broken("one owner", "key %d runs %v after its claim was sent", d.key.id, held)
	}
	if d.robbed == "" {
		d.key.starts++
	}
	if d.key.most > 0 && d.key.starts > d.key.most {
		j.broken("attempts count", "key %d starts for the %dth time, at most %d", d.key.id, d.key.starts, d.key.most)
	}
	for _, other := range d.key.deliveries {
		if other != d && other.callback != nil {
			j.overlaps(d, other)
		}
	}
}

// overlaps lets two callbacks of one key run at once only for a reason: the
// other one runs without a claim, was told to end, is paused beyond its lease,
// or the store lost a claim.
func (j *simJudge) overlaps(d, other *simDelivery) {
	why := d.robbed
	if why == "" {
		why = other.robbed
	}
	switch {
	case other.machine.result.Unprotected:
		why = "unprotected"
	case other.callback.cancelled:
		why = "cancelled"
	case other.p.wakes >= j.s.now && other.p.clock() >= other.held+other.machine.policy.Lease:
		why = "pause"
	}
	if why == "" {
		j.broken("one owner", "key %d has two: tokens %d and %d", d.key.id, other.token, d.token)
	}
	j.s.tally["overlap by "+why]++
}

// reruns counts runs of a key whose effect is there.
func (j *simJudge) reruns(d *simDelivery) {
	if d.key.excuse != "" {
		j.s.tally["rerun by "+d.key.excuse]++
	}
}

func (j *simJudge) acknowledges(d *simDelivery) {
	if d.key.effects == 0 && !d.moved {
		j.broken("no loss", "a message of key %d is acknowledged without an effect", d.key.id)
	}
	record := &d.key.record
	recorded := record.state == 'D' && j.s.store.now() < record.expires || d.key.excuse != ""
	if known := recorded || d.p.journal.entries[d.key] != nil; !known && !d.moved && !d.machine.result.Unprotected {
		j.broken("known effects", "a message of key %d is acknowledged, but nobody remembers why", d.key.id)
	}
}

// buries is told of a message that becomes a dead letter.
func (j *simJudge) buries(d *simDelivery) {
	j.s.tally["messages buried"]++
	d.key.buried++
	if r := &d.machine.result; r.Outcome == Deferred && !d.dead() && !d.moved {
		j.broken("no loss", "a message of key %d is buried for %v", d.key.id, r.Err)
	}
}

func (j *simJudge) atEnd() {
	if j.s.broker.open != 0 {
		j.broken("every end", "%d messages are lost", j.s.broker.open)
	}
	for _, k := range j.s.keys {
		if k.effects == 0 && k.buried == 0 {
			j.broken("no loss", "key %d never had an effect", k.id)
		}
	}
}
