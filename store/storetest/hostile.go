package storetest

import (
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// hostileKeys are keys that a store may garble when it shows them.
func (x *trial) hostileKeys() []store.Key {
	var keys []store.Key
	longest := x.h.MaxPart
	for _, part := range []string{
		"plain", "ABC", "abc", "abc ", " abc", "a:b", "a%3Ab", "%", "{a}", "a|b", "a/b", "a,b", "\x00", "a\x00", "\xff\xfe",
		"\xc3", "订单-9", "😀", "\r\n", "'", "\\", "\"", "~", "~~", "~a", "~~a", "a~",
		strings.Repeat("x", longest), "~" + strings.Repeat("x", longest-1), strings.Repeat("\x00", longest),
		strings.Repeat("x", longest+1), "~" + strings.Repeat("x", longest),
	} {
		keys = append(keys,
			store.Key{Application: x.app, Topic: "t", Tag: "", ID: part},
			store.Key{Application: x.app, Topic: part, Tag: part, ID: "1"})
	}
	return keys
}

// shown is the key that a record of k must show.
func (x *trial) shown(k store.Key) (seen store.Key, hashed bool) {
	seen, bounded := k, k.Bounded()
	for part, digest := range map[*string]string{
		&seen.Application: bounded.Application, &seen.Topic: bounded.Topic, &seen.Tag: bounded.Tag, &seen.ID: bounded.ID,
	} {
		if len(*part) > x.h.MaxPart {
			*part, hashed = digest, true
		}
	}
	return seen, hashed
}

func invalidKeys(k store.Key) map[string]store.Key {
	return map[string]store.Key{
		"no application": {Topic: k.Topic, ID: k.ID},
		"no topic":       {Application: k.Application, ID: k.ID},
		"no id":          {Application: k.Application, Topic: k.Topic},
	}
}
