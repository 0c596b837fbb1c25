package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var keyCases = []Case{{
	Name:     "every part of the key counts",
	Sentence: 8,
	Why:      "a message would be dropped as a copy of another topic's or another kind's",
	run: func(x *trial) {
		x.distinct(
			store.Key{Application: x.app, Topic: "orders", Tag: "paid", ID: "1"},
			store.Key{Application: x.app, Topic: "orders", Tag: "paid", ID: "2"},
			store.Key{Application: x.app, Topic: "orders", Tag: "sent", ID: "1"},
			store.Key{Application: x.app, Topic: "orders", Tag: "", ID: "1"},
			store.Key{Application: x.app, Topic: "refunds", Tag: "paid", ID: "1"},
		)
	},
}, {
	Name:     "separators inside a part do not move the border between parts",
	Sentence: 8,
	Why:      "the original skips the key a:b without a tag as a copy of the key b with the tag a",
	run: func(x *trial) {
		for _, sep := range []string{":", "|", "/", "%3A", "\x00", "{", "}", " ", "_", "-", ".", ","} {
			x.distinct(
				store.Key{Application: x.app, Topic: "t", Tag: "a" + sep + "b", ID: "c"},
				store.Key{Application: x.app, Topic: "t", Tag: "a", ID: "b" + sep + "c"},
				store.Key{Application: x.app, Topic: "t" + sep + "a", Tag: "b", ID: "c"},
				store.Key{Application: x.app, Topic: "t", Tag: "", ID: "a" + sep + "b" + sep + "c"},
				store.Key{Application: x.app + sep + "t", Topic: "a", Tag: "b", ID: "c"},
			)
		}
	},
}, {
	Name:     "case, accents and blanks count",
	Sentence: 8,
	Why:      "SQL collations merge such keys, and the second message is dropped",
	run: func(x *trial) {
		x.distinctIDs("abc", "ABC", "aBc", "abc ", " abc", "abc  ", "abc\t", "àbc", "a\u0300bc", "straße", "strasse",
			"ａｂｃ", "1", "01", "1.0", "+1", "true", "TRUE")
	},
}, {
	Name:     "any bytes make a key",
	Sentence: 8,
	Why:      "a key that the store garbles or refuses is a message that is lost or never runs",
	run: func(x *trial) {
		x.distinctIDs("\x00", "\x00\x00", "a\x00", "a\x00b", "\xff", "\xfe", "\xff\xfe", "\xc3", "�", "订单-9", "订单-８",
			"😀", "😁", "\n", "\r\n", "*", "?", "[a-c]", "{a}", "{b}", "{}", "'", "''", "\\", "\\\\", "%", "%%", "%25", "%00",
			"'; DROP TABLE t; --", "$1", "?1", "NULL", "null", "\u200b", "\u200ba")
	},
}, {
	Name:     "long parts that differ only at their end stay apart",
	Sentence: 8,
	Why:      "a store that cuts drops the second message, and a store that refuses never runs it",
	run: func(x *trial) {
		for _, n := range []int{16, 64, 127, 254, 255, 256, 1024, 32 << 10} {
			head := strings.Repeat("x", n-1)
			x.distinct(
				store.Key{Application: x.app, Topic: "t", Tag: "a", ID: head + "1"},
				store.Key{Application: x.app, Topic: "t", Tag: "a", ID: head + "2"},
				store.Key{Application: x.app, Topic: "t", Tag: head + "1", ID: "a"},
				store.Key{Application: x.app, Topic: "t", Tag: head + "2", ID: "a"},
				store.Key{Application: x.app, Topic: head + "1", Tag: "a", ID: "a"},
				store.Key{Application: x.app, Topic: head + "2", Tag: "a", ID: "a"},
				store.Key{Application: x.app + head + "1", Topic: "t", Tag: "a", ID: "a"},
				store.Key{Application: x.app + head + "2", Topic: "t", Tag: "a", ID: "a"},
			)
		}
	},
}, {
	Name:     "a short part does not pass for the digest of a long one",
	Sentence: 8,
	Why:      "whoever can choose keys could suppress another's message",
	run: func(x *trial) {
		whole := strings.Repeat("y", 32<<10)
		sum := sha256.Sum256([]byte(whole))
		digest := hex.EncodeToString(sum[:])
		x.distinctIDs(whole, digest, "~"+digest, "~~"+digest, "~~~"+digest, string(sum[:]), strings.ToUpper(digest),
			"sha256:"+digest, "~", "~~", "~a", "~~a")
	},
}, {
	Name:     "two applications never see each other's records",
	Sentence: 10,
	Why:      "the second consumer group of a topic would skip everything the first one has done",
	run: func(x *trial) {
		mine, other := x.key("shared"), x.key("shared")
		other.Application = x.app + "2"
		a, b := store.NewToken(), store.NewToken()
		x.claimed(x.request(mine, a))
		x.claimed(x.request(other, b))
		x.release(other, a, true, store.ErrNotOwner)
		x.complete(mine, a, long, store.Completed)
		x.answers(x.request(other, store.NewToken()), store.Busy)
		x.release(other, b, true, nil)
		x.claimed(x.request(other, store.NewToken()))
		x.answers(x.request(mine, store.NewToken()), store.Done)
	},
}}

func (x *trial) distinctIDs(ids ...string) {
	keys := make([]store.Key, len(ids))
	for i, id := range ids {
		keys[i] = x.key(id)
	}
	x.distinct(keys...)
}

// distinct wants each key to have a record of its own, and to find it again.
func (x *trial) distinct(keys ...store.Key) {
	if x.err != nil {
		return
	}
	tokens := make([]store.Token, len(keys))
	for i, k := range keys {
		tokens[i] = store.NewToken()
		if x.claimed(x.request(k, tokens[i])); x.err != nil {
			x.failedAt(k)
			return
		}
	}
	for i, k := range keys {
		if i%2 == 0 {
			x.complete(k, tokens[i], long, store.Completed)
		}
	}
	want := [2]store.State{store.Done, store.Busy}
	for i, k := range keys {
		if x.answers(x.request(k, store.NewToken()), want[i%2]); x.err != nil {
			x.failedAt(k)
			return
		}
	}
}
