package sqlrecord_test

import (
	"encoding/hex"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

func TestTheHashOfAKeyIsTheSameForEver(t *testing.T) {
	t.Parallel()
	got := sqlrecord.Hash(store.Key{Application: "order-consumer", Topic: "TopicOrder", Tag: "TagA", ID: "A1001"})
	const want = "0448282d586d0fbfe2079cecf49679dececc17e1cb6beeb96de5c530e6a0d6ac"
	if hex.EncodeToString(got[:]) != want {
		t.Errorf("got %x, want %s: every record in every database would be lost", got, want)
	}
}

func TestKeysWithTheSameBytesInOtherPartsHaveOtherHashes(t *testing.T) {
	t.Parallel()
	seen := map[[32]byte]store.Key{}
	for _, k := range []store.Key{
		{Application: "a", Topic: "b", Tag: "", ID: "c"}, {Application: "ab", Topic: "", Tag: "", ID: "c"},
		{Application: "a", Topic: "", Tag: "b", ID: "c"}, {Application: "a", Topic: "b", Tag: "c", ID: ""},
		{Application: "a\x00\x00\x00\x01b", Topic: "", Tag: "", ID: "c"}, {Application: "", Topic: "", Tag: "", ID: "abc"},
	} {
		h := sqlrecord.Hash(k)
		if other, taken := seen[h]; taken {
			t.Errorf("%q and %q share a hash", other, k)
		}
		seen[h] = k
	}
}
