package redisstore

import (
	"net/url"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// appendName appends the record's name. The braces make the whole key its hash
// tag, so that a cluster spreads records evenly whatever the key contains.
func (s *Store) appendName(text []byte, k store.Key) []byte {
	if s.compat {
		return append(text, compatName(k)...)
	}
	text = append(append(text, s.options.Prefix...), '{')
	return append(k.AppendName(text), '}')
}

func (s *Store) name(k store.Key) string { return string(s.appendName(nil, k)) }

// beginning is how the names of an application's records begin, or those of all
// records if application is "".
func (s *Store) beginning(application string) string {
	text := s.options.Prefix + "{"
	if application != "" {
		text += strings.TrimRight(store.Key{Application: application}.String(), ":") + ":"
	}
	return text
}

// keyOf reads a key back from the name of its record. It reports false for a
// name that no record has.
func (s *Store) keyOf(name string) (k store.Key, hashed, ok bool) {
	text, ok := strings.CutPrefix(name, s.beginning(""))
	if !ok || !strings.HasSuffix(text, "}") {
		return store.Key{}, false, false
	}
	texts := strings.Split(text[:len(text)-1], ":")
	if len(texts) != 4 || texts[0] == "" || texts[1] == "" || texts[3] == "" {
		return store.Key{}, false, false
	}
	var parts, plain [4]string // plain has no digests, which would get a second ~
	for i, text := range texts {
		part, err := url.PathUnescape(text)
		if err != nil {
			return store.Key{}, false, false
		}
		if parts[i], plain[i] = part, part; isDigest(text) {
			plain[i], texts[i] = "", ""
		}
	}
	bounded := store.Key{Application: parts[0], Topic: parts[1], Tag: parts[2], ID: parts[3]}
	rest, undigested := store.Key{Application: plain[0], Topic: plain[1], Tag: plain[2], ID: plain[3]}.Unbounded()
	if undigested || rest.String() != strings.Join(texts, ":") { // not as we write it
		return store.Key{}, false, false
	}
	k, hashed = bounded.Unbounded()
	return k, hashed, true
}

// isDigest reports whether part is what [store.Key.Bounded] makes of a long one.
func isDigest(part string) bool { return len(part) == 65 && part[0] == '~' && isHex(part[1:]) }
