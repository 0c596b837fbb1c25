package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// MaxPart is the longest part of a [Key], in bytes, that is stored as it is.
// A longer part is replaced by its SHA-256.
const MaxPart = 255

// Key names one unit of work that must take effect once. Two keys are the same
// only if all four parts are equal byte for byte; any bytes are allowed,
// including separators, NUL and invalid UTF-8.
type Key struct {
	Application string // who consumes: normally the consumer group
	Topic       string // the topic the message was first sent to
	Tag         string // may be empty
	ID          string // the business key
}

// Validate reports every part that is missing. Its errors wrap [ErrInvalid].
func (k Key) Validate() error {
	if k.Application != "" && k.Topic != "" && k.ID != "" {
		return nil
	}
	var errs []error
	for _, part := range []struct{ name, value string }{
		{"Application", k.Application}, {"Topic", k.Topic}, {"ID", k.ID},
	} {
		if part.value == "" {
			errs = append(errs, fmt.Errorf("%w: Key.%s is empty", ErrInvalid, part.name))
		}
	}
	return errors.Join(errs...)
}

// Bounded returns the key as stores keep it: each part of at most MaxPart+1
// bytes, distinct keys still distinct. A part over [MaxPart] becomes "~" and
// the hex SHA-256 of it; a part that itself starts with "~" gets a second one,
// so that no short part can pass for the digest of a long one. Apply it once.
func (k Key) Bounded() Key {
	return Key{bounded(k.Application), bounded(k.Topic), bounded(k.Tag), bounded(k.ID)}
}

func bounded(part string) string {
	switch {
	case len(part) > MaxPart:
		sum := sha256.Sum256([]byte(part))
		return "~" + hex.EncodeToString(sum[:])
	case part != "" && part[0] == '~':
		return "~" + part
	}
	return part
}

// Unbounded undoes [Key.Bounded], for stores that show their keys. hashed tells
// that a part is a digest: it stays as stores keep it, because nothing tells
// what it was.
func (k Key) Unbounded() (restored Key, hashed bool) {
	for _, part := range []*string{&k.Application, &k.Topic, &k.Tag, &k.ID} {
		switch {
		case strings.HasPrefix(*part, "~~"):
			*part = (*part)[1:]
		case strings.HasPrefix(*part, "~"):
			hashed = true
		}
	}
	return k, hashed
}

// String is the key as one printable name, application:topic:tag:id, of its
// bounded parts. It is injective: '%', ':', braces, blanks and control
// characters inside a part are written as %XX, so exactly three colons are
// separators. Stores use it as a name, logs and tools as an identifier.
func (k Key) String() string { return string(k.AppendName(nil)) }

// AppendName appends [Key.String] to dst and returns the extended buffer. It
// allocates only when dst is too small or a part is over [MaxPart].
func (k Key) AppendName(dst []byte) []byte {
	dst = appendPart(dst, k.Application)
	dst = append(dst, ':')
	dst = appendPart(dst, k.Topic)
	dst = append(dst, ':')
	dst = appendPart(dst, k.Tag)
	dst = append(dst, ':')
	return appendPart(dst, k.ID)
}

func appendPart(dst []byte, part string) []byte {
	const digits = "0123456789ABCDEF"
	part = bounded(part)
	copied := 0
	for i := 0; i < len(part); i++ {
		if c := part[i]; escaped[c] {
			dst = append(append(dst, part[copied:i]...), '%', digits[c>>4], digits[c&15])
			copied = i + 1
		}
	}
	return append(dst, part[copied:]...)
}

// escaped are the bytes that a name has in the form %XX.
var escaped = func() (set [256]bool) {
	for c := range ' ' + 1 {
		set[c] = true
	}
	for _, c := range "\x7f%:{}" {
		set[c] = true
	}
	return set
}()
