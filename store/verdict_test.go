package store_test

import (
	"fmt"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestEveryAnswerHasItsWord(t *testing.T) {
	for _, c := range []struct {
		answer fmt.Stringer
		want   string
	}{
		{store.State(0), "invalid"}, {store.Claimed, "claimed"}, {store.Busy, "busy"}, {store.Done, "done"},
		{store.Parked, "parked"}, {store.Corrupt, "corrupt"}, {store.State(200), "State(200)"},
		{store.Completion(0), "invalid"}, {store.Completed, "completed"}, {store.AlreadyDone, "already done"},
		{store.Late, "late"}, {store.Recreated, "recreated"}, {store.Repaired, "repaired"},
		{store.Completion(200), "Completion(200)"},
		{store.Status(0), "invalid"}, {store.StatusConsuming, "CONSUMING"}, {store.StatusLapsed, "LAPSED"},
		{store.StatusConsumed, "CONSUMED"}, {store.StatusParked, "PARKED"}, {store.StatusCorrupt, "CORRUPT"},
		{store.Status(200), "Status(200)"},
		{store.Class(0), "invalid"}, {store.NotApplied, "not applied"}, {store.Unknown, "outcome unknown"},
		{store.Permanent, "permanent"}, {store.Class(200), "Class(200)"},
	} {
		if got := c.answer.String(); got != c.want {
			t.Errorf("%T: got %q, want %q", c.answer, got, c.want)
		}
	}
}
