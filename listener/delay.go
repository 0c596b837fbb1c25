package listener

import (
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// lateness is how much later than its level says a broker delivers.
const lateness = 100 * time.Millisecond

// levels is the broker's messageDelayLevel: level n is levels[n-1].
type levels []time.Duration

// covering is the smallest level that waits for d, or the longest there is.
func (l levels) covering(d time.Duration) int {
	longest := 1
	for i, delay := range l {
		if delay-lateness >= d {
			return i + 1
		}
		if delay > l[longest-1] {
			longest = i + 1
		}
	}
	return longest
}

// usual is the level the broker picks by itself after reconsumed retries.
func (l levels) usual(reconsumed int32) int {
	return int(min(3+int64(max(reconsumed, 0)), int64(len(l))))
}

// longer is the one of two levels that waits longer; a may be 0, none.
func (l levels) longer(a, b int) int {
	if a == 0 || l[b-1] > l[a-1] {
		return b
	}
	return a
}

// forBusy is the level for a key that stays claimed for left: not so early that
// the copy only finds it busy again, and not earlier than the broker would, so
// that copies of a long callback do not use up their retries.
func (l levels) forBusy(left time.Duration, reconsumed int32) int {
	return l.longer(l.usual(reconsumed), l.covering(left))
}

// budget is how long a message is delivered again for before it is given up, up
// to the longest time that a record can live.
func (l levels) budget(attempts int32) time.Duration {
	var sum time.Duration
	ramp := min(attempts, int32(len(l)))
	for n := range ramp {
		sum = min(sum+l[l.usual(n)-1], store.MaxDuration)
	}
	rest, last := time.Duration(max(attempts-ramp, 0)), l[len(l)-1]
	if rest > (store.MaxDuration-sum)/last {
		return store.MaxDuration
	}
	return sum + rest*last
}
