package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a text that no formatting, encoding or logging shows. Only Reveal
// and a conversion to string do.
type Secret string

// Reveal is the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String is "(secret)", or "" for no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(secret)"
}

// Format writes String for every verb, %#v included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) } // fmt reports its own errors

// MarshalText makes JSON, YAML, TOML and XML show String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue makes slog show String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
