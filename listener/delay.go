package listener

import "time"

// lateness is how much later than its level says a broker delivers.
const lateness = 100 * time.Millisecond

// levels is the broker's messageDelayLevel: level n is levels[n-1].
type levels []time.Duration

// covering is the smallest level that waits for d, or the longest there is.
func (l levels) covering(d time.Duration) int {
	longest := 1
	for i, delay := range l {
		if delay >= d+lateness {
			return i + 1
		}
		if delay > l[longest-1] {
			longest = i + 1
		}
	}
	return longest
}

// usual is the level the broker picks by itself after reconsumed retries.
func (l levels) usual(reconsumed int32) int { return min(3+int(reconsumed), len(l)) }

// forBusy is the level for a key that stays claimed for left: not so early that
// the copy only finds it busy again, and not earlier than the broker would, so
// that copies of a long callback do not use up their retries.
func (l levels) forBusy(left time.Duration, reconsumed int32) int {
	covering, usual := l.covering(left), l.usual(reconsumed)
	if l[covering-1] > l[usual-1] {
		return covering
	}
	return usual
}

// budget is how long a message is delivered again for before it is given up.
func (l levels) budget(attempts int32) time.Duration {
	var sum time.Duration
	for n := range attempts {
		sum += l[l.usual(n)-1]
	}
	return sum
}
