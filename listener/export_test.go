package listener

import "github.com/rocketmq-dedup/rocketmq-dedup-go/store"

// WriteMark is the property with which a message tells its transaction.
func WriteMark(k store.Key, t store.Token) string { return mark{k, t}.String() }

// ParseMark reads it back.
func ParseMark(s string) (store.Key, store.Token, error) {
	m, err := parseMark(s)
	return m.key, m.token, err
}
