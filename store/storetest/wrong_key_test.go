package storetest_test

import (
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// naming is the change that names records by f, part by part.
func naming(f func(part string) string) func(*reference) {
	return func(s *reference) {
		s.name = func(k store.Key) string {
			return store.Key{Application: f(k.Application), Topic: f(k.Topic), Tag: f(k.Tag), ID: f(k.ID)}.String()
		}
	}
}

var wrongKeys = []wrong{{
	mistake: "forgets the tag",
	change: func(s *reference) {
		s.name = func(k store.Key) string {
			return store.Key{Application: k.Application, Topic: k.Topic, ID: k.ID}.String()
		}
	},
	caught: []string{
		"every part of the key counts",
		"separators inside a part do not move the border between parts",
		"long parts that differ only at their end stay apart",
		"forget touches no other key's record",
	},
}, {
	mistake: "joins the parts of a key by colons",
	change: func(s *reference) {
		s.name = func(k store.Key) string {
			return strings.Join([]string{k.Application, k.Topic, k.Tag, k.ID}, ":")
		}
	},
	caught: []string{
		"separators inside a part do not move the border between parts",
		"a scan of one application shows no other's records, and one of all shows all",
	},
}, {
	mistake: "takes capitals for small letters",
	change:  naming(strings.ToLower),
	caught: []string{
		"case, accents and blanks count",
		"any bytes make a key",
		"a short part does not pass for the digest of a long one",
		"get shows every key byte for byte, and of long parts the digest",
		"forget touches no other key's record",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
	},
}, {
	mistake: "takes no account of blanks at the end",
	change:  naming(func(part string) string { return strings.TrimRight(part, " ") }),
	caught: []string{
		"case, accents and blanks count",
		"get shows every key byte for byte, and of long parts the digest",
		"forget touches no other key's record",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
	},
}, {
	mistake: "ends a part at its first NUL",
	change: naming(func(part string) string {
		head, _, _ := strings.Cut(part, "\x00")
		return head
	}),
	caught: []string{
		"any bytes make a key",
		"get shows every key byte for byte, and of long parts the digest",
		"a scan shows every key byte for byte, and of long parts the digest",
		"a scan of one application shows no other's records, and one of all shows all",
	},
}, {
	mistake: "replaces what is not UTF-8",
	change:  naming(func(part string) string { return strings.ToValidUTF8(part, "\uFFFD") }),
	caught: []string{
		"any bytes make a key",
		"get shows every key byte for byte, and of long parts the digest",
		"a scan shows every key byte for byte, and of long parts the digest",
	},
}, {
	mistake: "cuts long parts",
	change:  naming(func(part string) string { return part[:min(len(part), store.MaxPart)] }),
	caught: []string{
		"long parts that differ only at their end stay apart",
		"get shows every key byte for byte, and of long parts the digest",
		"a scan shows every key byte for byte, and of long parts the digest",
	},
}, {
	mistake: "lets a short part pass for the digest of a long one",
	change:  naming(func(part string) string { return strings.TrimPrefix(store.Key{ID: part}.Bounded().ID, "~") }),
	caught: []string{
		"a short part does not pass for the digest of a long one",
	},
}, {
	mistake: "forgets the application",
	change: func(s *reference) {
		s.name = func(k store.Key) string { return store.Key{Topic: k.Topic, Tag: k.Tag, ID: k.ID}.String() }
	},
	caught: []string{
		"separators inside a part do not move the border between parts",
		"long parts that differ only at their end stay apart",
		"two applications never see each other's records",
		"forget touches no other key's record",
		"a scan of one application shows no other's records, and one of all shows all",
	},
}}
