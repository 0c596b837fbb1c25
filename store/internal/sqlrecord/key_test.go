package sqlrecord_test

import (
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

func TestAKeyIsFoundAgainInWhatATableHolds(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"x", "~", "~~", "~a", "a~", "~" + strings.Repeat("0", 64), strings.Repeat("é", 127)} {
		k := store.Key{Application: part, Topic: part, Tag: part, ID: part}
		if got, hashed := sqlrecord.Unbounded(k.Bounded()); got != k || hashed {
			t.Errorf("got %q, %v, want %q", got, hashed, k)
		}
	}
	long := store.Key{Application: "a", Topic: "t", ID: strings.Repeat("x", store.MaxPart+1)}.Bounded()
	if got, hashed := sqlrecord.Unbounded(long); got != long || !hashed {
		t.Errorf("got %q, %v, want the digest %q", got, hashed, long)
	}
}
