package store_test

import (
	"strings"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestNewTokensAreNeverZeroOrEqual(t *testing.T) {
	seen := make(map[store.Token]bool)
	for range 1000 {
		token := store.NewToken()
		if token.IsZero() || seen[token] {
			t.Fatalf("got %v, which is zero or was drawn before", token)
		}
		seen[token] = true
	}
}

func TestParseTokenRefusesWhatStringDoesNotWrite(t *testing.T) {
	good := strings.Repeat("0f", 16)
	if token, err := store.ParseToken(good); err != nil || token.String() != good {
		t.Errorf("ParseToken(%q): got %v, %v", good, token, err)
	}
	for name, text := range map[string]string{
		"nothing": "", "too short": good[1:], "too long": good + "0", "capitals": strings.ToUpper(good),
		"other letters": "g" + good[1:], "a sign": "+" + good[1:], "dashes": good[:8] + "-" + good[9:],
		"zero": strings.Repeat("0", 32), "a blank": " " + good[1:], "twice": good + good,
	} {
		if token, err := store.ParseToken(text); err == nil || !token.IsZero() {
			t.Errorf("%s: got %v, %v; want the zero token and an error", name, token, err)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(store.NewToken().String())
	f.Add("")
	f.Add(strings.Repeat("0", 32))
	f.Fuzz(func(t *testing.T, text string) {
		token, err := store.ParseToken(text)
		if err == nil && (token.IsZero() || token.String() != text) {
			t.Errorf("ParseToken(%q): got %v without an error", text, token)
		}
		if err != nil && !token.IsZero() {
			t.Errorf("ParseToken(%q): got %v beside an error, want the zero token", text, token)
		}
	})
}
