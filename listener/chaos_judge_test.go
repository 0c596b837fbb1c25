package listener_test

import (
	"fmt"
	"slices"
	"time"
)

// judge reads a diary, note by note in its order, and finds what consumers with
// the library must not do.
type judge struct {
	lease    time.Duration         // of all consumers
	keys     map[string]*history   // by key
	naps     map[int][]*nap        // by process
	open     map[int]map[int]*open // by process and run
	findings []finding             // the first ones
	figures
}

// history is what became of one key.
type history struct {
	sent      time.Time // zero until then, as recorded
	recorded  time.Time // when it was first known to be done
	succeeded bool
	claims    []note // granted, and no run yet
	begun     int
	open      []*open
}

// open is a run that has not ended.
type open struct {
	process int
	claimed time.Time
	key     *history
	slept   int // naps of its process that were over when it began
}

// finding is something that must not be.
type finding struct {
	what string
	note note
}

func newJudge(lease time.Duration) *judge {
	return &judge{lease: lease, keys: map[string]*history{}, naps: map[int][]*nap{}, open: map[int]map[int]*open{}}
}

func (j *judge) read(n note) {
	switch n.kind {
	case sent:
		j.send(n)
	case runBegan:
		j.begin(n)
	case runEnded, runFailed:
		j.end(n)
	case granted:
		j.grant(n)
	case recorded:
		if h := j.history(n.key); h.recorded.IsZero() {
			h.recorded = n.at
		}
	case unrecorded:
		j.unrecorded++
	case skipped:
		j.skipped++
	case deferred:
		j.deferred++
	case joined:
		j.joins++
	case left:
		j.leaves++
		j.gone(n.process)
	case killed:
		j.kills++
		j.wake(n)
		j.gone(n.process)
	case frozen:
		j.naps[n.process] = append(j.naps[n.process], &nap{from: n.at})
	case thawed:
		j.wake(n)
	case restarted:
		j.restarts++
	case hung:
		j.hangs++
	case cutOff:
		j.cuts++
	}
}

func (j *judge) history(key string) *history {
	h := j.keys[key]
	if h == nil {
		h = &history{}
		j.keys[key] = h
	}
	return h
}

func (j *judge) send(n note) {
	j.messages++
	if h := j.history(n.key); h.sent.IsZero() {
		h.sent = n.at
		j.known++
		if !h.succeeded {
			j.lost++
		}
	}
}

func (j *judge) grant(n note) {
	h := j.history(n.key)
	h.claims = append(h.claims, n)
	if !h.recorded.IsZero() && n.at.After(h.recorded) {
		j.grantedAfter++
		j.find("a claim after the record", n)
	}
}

func (j *judge) begin(n note) {
	h := j.history(n.key)
	j.runs++
	if h.begun++; h.begun > 1 {
		j.reruns++
	}
	if !h.recorded.IsZero() {
		j.begunAfter++
	}
	woken := j.wokenBefore(n)
	for _, other := range h.open {
		if j.overlaps++; woken || j.sleptIn(other, n.at) {
			j.explained++
		} else {
			j.find(fmt.Sprintf("a run beside that of process %d", other.process), n)
		}
	}
	r := &open{process: n.process, claimed: j.claimOf(n, h), key: h, slept: j.over(n.process)}
	h.open = append(h.open, r)
	if j.open[n.process] == nil {
		j.open[n.process] = map[int]*open{}
	}
	j.open[n.process][n.run] = r
}

// claimOf takes the claim of the run that n begins, and returns when it was sent.
func (j *judge) claimOf(n note, h *history) time.Time {
	i := slices.IndexFunc(h.claims, func(claim note) bool { return claim.process == n.process })
	if i < 0 {
		j.unclaimed++
		j.find("a run without a claim", n)
		return n.at
	}
	claim := h.claims[i]
	h.claims = slices.Delete(h.claims, i, i+1)
	return claim.at
}

func (j *judge) end(n note) {
	r := j.open[n.process][n.run]
	if r == nil {
		j.find("an end without a begin", n)
		return
	}
	j.close(r)
	delete(j.open[n.process], n.run)
	if n.kind == runFailed {
		j.failed++
		return
	}
	if !r.key.sent.IsZero() && !r.key.succeeded {
		j.lost--
	}
	r.key.succeeded = true
}

// gone ends the runs of a process that is no more.
func (j *judge) gone(process int) {
	for _, r := range j.open[process] {
		j.close(r)
		j.cutShort++
	}
	delete(j.open, process)
}

func (j *judge) close(r *open) {
	r.key.open = slices.DeleteFunc(r.key.open, func(other *open) bool { return other == r })
}

func (j *judge) find(what string, n note) {
	if len(j.findings) < 5 {
		j.findings = append(j.findings, finding{what, n})
	}
}

// findLost finds keys that have not run.
func (j *judge) findLost() {
	for key, h := range j.keys {
		if !h.sent.IsZero() && !h.succeeded {
			j.find("no run succeeded", note{key: key, at: h.sent})
		}
	}
}
