package store

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// Token is the random owner of one delivery attempt. It is drawn anew for every
// attempt, repeated only to repeat the same call, and never used again after a
// release. The zero Token is refused everywhere.
type Token [16]byte

// NewToken draws a token from the operating system's random source.
func NewToken() Token {
	var t Token
	rand.Read(t[:]) // never fails since Go 1.24: it aborts the program instead
	return t
}

// IsZero reports whether t is the zero Token, which no call accepts.
func (t Token) IsZero() bool { return t == Token{} }

// String is the wire form: 32 lower-case hex digits.
func (t Token) String() string { return hex.EncodeToString(t[:]) }

// ParseToken reads the wire form back. It refuses anything that [Token.String]
// does not write, upper-case digits and the zero token included.
func ParseToken(s string) (Token, error) {
	var t Token
	if len(s) != 2*len(t) {
		return Token{}, fmt.Errorf("store: token: %d characters, want %d hex digits", len(s), 2*len(t))
	}
	if _, err := hex.Decode(t[:], []byte(s)); err != nil || t.String() != s || t.IsZero() {
		return Token{}, fmt.Errorf("store: token: not 32 lower-case hex digits, or zero")
	}
	return t, nil
}
