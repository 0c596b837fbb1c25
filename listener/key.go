package listener

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/tidwall/gjson"
)

// KeyFunc returns the business key of a message: what tells two copies of one
// unit of work from two units of work. It is called once per delivery, before
// the callback, and from many goroutines at once.
//
// An empty key means "this message has none" and makes the listener use
// [DefaultKey]; an error defers the message. A KeyFunc must not change the
// message, must not append to its body, which shares its array with the next
// message's, and must not return a string that aliases it.
type KeyFunc func(*primitive.MessageExt) (string, error)

// KeyFromKeys takes the KEYS property, which producers set with WithKeys. It is
// "" for a message without KEYS and an error for several keys: they are joined
// by a blank, so that the list A, B and the key "A B" look alike, and the order
// of a list is no part of a business key. [KeyFromProperty]("KEYS") takes the
// joined list as it is.
func KeyFromKeys() KeyFunc { return keysKey }

func keysKey(m *primitive.MessageExt) (string, error) {
	keys := m.GetKeys()
	if strings.Contains(keys, primitive.PropertyKeySeparator) {
		return "", errors.New("listener: KEYS holds a blank, so it is several keys or ambiguous: " +
			"send one key without blanks, or use property:KEYS for the whole list")
	}
	return keys, nil
}

// KeyFromProperty takes the message property name as it is, "" when the message
// does not have it. A listener refuses the empty name when it is made.
func KeyFromProperty(name string) KeyFunc {
	if name == "" {
		return unusable("key from property: the name is empty, want that of the property that holds the key").key
	}
	return func(m *primitive.MessageExt) (string, error) { return m.GetProperty(name), nil }
}

// KeyFromJSON takes the scalar at path, in gjson's syntax such as order.no or
// items.0.id, out of a JSON body. A path that leads nowhere or to null gives
// "". A body that is not JSON, and an object or array at path, are errors. A
// listener refuses the empty path when it is made.
//
// Numbers are taken as they are written, so that long ids keep their digits and
// 1 differs from 1.0; the string "1" and the number 1 are the same key. Of two
// members with one name the first counts.
func KeyFromJSON(path string) KeyFunc {
	if path == "" {
		return unusable("key from JSON: the path is empty, want one such as order.no").key
	}
	return func(m *primitive.MessageExt) (string, error) {
		if !validJSON(m.Body) {
			return "", fmt.Errorf("listener: key from JSON %s: the body is not JSON", path)
		}
		return scalar(path, gjson.GetBytes(m.Body, path)) // GetBytes copies what it returns
	}
}

func scalar(path string, r gjson.Result) (string, error) {
	switch r.Type {
	case gjson.Number:
		if r.Raw != "" {
			return r.Raw, nil
		}
	case gjson.JSON:
		return "", fmt.Errorf("listener: key from JSON %s: it is an object or array, not a scalar", path)
	}
	return r.String(), nil // "" for null and for a path that leads nowhere
}

// maxOpeners is how many brackets a body may hold to be checked by gjson, which
// is fast but recursive: a body of four million of them needs a gigabyte of
// stack and ends the process.
const maxOpeners = 10_000

func validJSON(body []byte) bool {
	if bytes.Count(body, []byte{'['})+bytes.Count(body, []byte{'{'}) <= maxOpeners {
		return gjson.ValidBytes(body)
	}
	return json.Valid(body) // slower, and bounded in depth
}

// MessageID takes the message id as the client reports it: UNIQ_KEY, or the
// offset of the stored copy. It is the Java original's default and weaker than
// [DefaultKey]: the members of a Java batch send share one id, so all but the
// first are dropped, and a message without UNIQ_KEY has another id after every
// retry.
func MessageID() KeyFunc {
	return func(m *primitive.MessageExt) (string, error) { return m.MsgId, nil }
}

// DefaultKey tells deliveries apart without knowing the business: UNIQ_KEY with
// a hash of KEYS and body, which a producer's own resend and every redelivery
// share and the members of a batch do not; without UNIQ_KEY the offset id of
// the first stored copy. A producer that builds the message anew gives it
// another key, so business resends need one of the other functions. A message
// without any id is an error.
func DefaultKey() KeyFunc { return defaultKey }

func defaultKey(m *primitive.MessageExt) (string, error) {
	if id := m.GetProperty(primitive.PropertyUniqueClientMessageIdKeyIndex); id != "" {
		return id + ":" + fingerprint(m), nil
	}
	if id := m.GetProperty(primitive.PropertyOriginMessageId); id != "" {
		return id, nil
	}
	if m.OffsetMsgId != "" {
		return m.OffsetMsgId, nil
	}
	return "", errors.New("listener: default key: the message has neither UNIQ_KEY nor ORIGIN_MESSAGE_ID nor an offset id")
}

// fingerprint is 128 bits of a hash of KEYS, its length in front, and body.
func fingerprint(m *primitive.MessageExt) string {
	keys := m.GetKeys()
	head := binary.BigEndian.AppendUint32(make([]byte, 0, 64), uint32(len(keys)))
	h := sha256.New()
	h.Write(append(head, keys...))
	h.Write(m.Body)
	return hex.EncodeToString(h.Sum(head[:0])[:16])
}

// unusable says why a key function can work for no message.
type unusable string

func (u unusable) key(*primitive.MessageExt) (string, error) {
	return "", errors.New("listener: " + string(u))
}

// unusableKey returns what is wrong with f if it was made by a function of this
// package that was given an unusable argument, else "". All method values of key
// share their code; functions of others are not called.
func unusableKey(f KeyFunc) string {
	if f == nil || reflect.ValueOf(f).Pointer() != reflect.ValueOf(unusable("").key).Pointer() {
		return ""
	}
	_, err := f(nil)
	return strings.TrimPrefix(err.Error(), "listener: ")
}
