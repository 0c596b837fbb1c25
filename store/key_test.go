package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestDistinctKeysHaveDistinctNames(t *testing.T) {
	long := strings.Repeat("x", store.MaxPart+1)
	sum := sha256.Sum256([]byte(long))
	digest := hex.EncodeToString(sum[:])
	keys := []store.Key{
		{"a", "t", "", "1"}, {"A", "t", "", "1"}, {"a", "t", "1", "1"}, {"a", "t", "1", ""}, {"a", "t", " ", "1"},
		{"a", "t", "g", "b:c"}, {"a", "t", "g:b", "c"}, {"a", "t:g", "b", "c"}, {"a:t", "g", "b", "c"},
		{"a", "t", "g", "b%3Ac"}, {"a", "t", "g%3Ab", "c"}, {"a", "t", "g", "b%c"}, {"a", "t", "g", "b%25c"},
		{"a", "t", "g", "{b}"}, {"a", "t", "g", "%7Bb%7D"}, {"a", "t", "g", "{b"}, {"a", "t", "g", "b}"},
		{"a", "t", "g", "b "}, {"a", "t", "g", "b"}, {"a", "t", "g", " b"}, {"a", "t", "g", "b\x00"}, {"a", "t", "g", "b\n"},
		{"a", "t", "g", "\x7f"}, {"a", "t", "g", "\xff"}, {"a", "t", "g", "\xfe"},
		{"a", "t", "g", "\uFFFD"}, {"a", "t", "g", "订单"},
		{"a", "t", "g", long}, {"a", "t", "g", long + "1"}, {"a", "t", long, "g"},
		{"a", long, "t", "g"}, {long, "a", "t", "g"},
		{"a", "t", "g", long[1:]}, {"a", "t", "g", digest}, {"a", "t", "g", "~" + digest}, {"a", "t", "g", "~~" + digest},
		{"a", "t", "g", "~"}, {"a", "t", "g", "~~"}, {"a", "t", "~", "g"},
		{"a", "t", "g", "~" + long}, {"a", "t", "g", "~" + long[2:]},
	}
	names := make(map[string]store.Key)
	bounded := make(map[store.Key]store.Key)
	for _, k := range keys {
		if other, taken := names[k.String()]; taken {
			t.Errorf("%q and %q share the name %s", k, other, k)
		}
		if other, taken := bounded[k.Bounded()]; taken {
			t.Errorf("%q and %q share the bounded key %q", k, other, k.Bounded())
		}
		names[k.String()], bounded[k.Bounded()] = k, k
	}
}

func FuzzKeyString(f *testing.F) {
	f.Add("billing", "orders", "paid", "A1001")
	f.Add("a:b", "%", "", "~")
	f.Add("{a}", "\x00\x7f ", "订单\xff", strings.Repeat("x", store.MaxPart+1))
	f.Add("~"+strings.Repeat("x", store.MaxPart), "~"+strings.Repeat("x", store.MaxPart-1), "~~", "%3A")
	f.Fuzz(func(t *testing.T, application, topic, tag, id string) {
		k := store.Key{Application: application, Topic: topic, Tag: tag, ID: id}
		b := k.Bounded()
		for _, part := range [][2]string{
			{application, b.Application}, {topic, b.Topic}, {tag, b.Tag}, {id, b.ID},
		} {
			checkBounded(t, part[0], part[1])
		}

		name := k.String()
		if i := strings.IndexFunc(name, reserved); i >= 0 {
			t.Errorf("the name %q of %q has a blank, brace or control character at %d", name, k, i)
		}
		if got := parseName(t, name); got != b {
			t.Errorf("the name %q reads back as %q, want %q", name, got, b)
		}
	})
}

func reserved(r rune) bool { return r <= ' ' || r == unicode.MaxASCII || r == '{' || r == '}' }

// checkBounded wants got to tell all that part does, or its digest.
func checkBounded(t *testing.T, part, got string) {
	t.Helper()
	sum := sha256.Sum256([]byte(part))
	want := part
	switch {
	case len(part) > store.MaxPart:
		want = "~" + hex.EncodeToString(sum[:])
	case strings.HasPrefix(part, "~"):
		want = "~" + part
	}
	if got != want || len(got) > store.MaxPart+1 {
		t.Errorf("the bounded form of %q is %q, want %q", part, got, want)
	}
}

// parseName reads a name back into the bounded key it was made of, which shows
// that no two bounded keys share one.
func parseName(t *testing.T, name string) store.Key {
	t.Helper()
	parts := strings.Split(name, ":")
	if len(parts) != 4 {
		t.Fatalf("the name %q has %d parts, want 4", name, len(parts))
	}
	for i, part := range parts {
		var b strings.Builder
		for len(part) > 0 {
			if part[0] != '%' {
				b.WriteByte(part[0])
				part = part[1:]
				continue
			}
			c, err := hex.DecodeString(part[1:3])
			if err != nil || strings.ToUpper(part[:3]) != part[:3] {
				t.Fatalf("the name %q has a bad escape in %q", name, part)
			}
			b.WriteByte(c[0])
			part = part[3:]
		}
		parts[i] = b.String()
	}
	return store.Key{Application: parts[0], Topic: parts[1], Tag: parts[2], ID: parts[3]}
}

func TestAppendNameExtendsItsBufferAndAllocatesNothing(t *testing.T) {
	k := store.Key{Application: "billing", Topic: "orders", Tag: "paid", ID: "A:1001"}
	buffer := append(make([]byte, 0, 128), "prefix "...)
	if got, want := string(k.AppendName(buffer)), "prefix "+k.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := testing.AllocsPerRun(100, func() { _ = k.AppendName(buffer) }); n != 0 {
		t.Errorf("AppendName: got %v allocations, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { _ = k.Bounded() }); n != 0 {
		t.Errorf("Bounded of a short key: got %v allocations, want 0", n)
	}
}

func TestKeyValidateNamesEveryMissingPart(t *testing.T) {
	whole := store.Key{Application: "billing", Topic: "orders", ID: "1"}
	if err := whole.Validate(); err != nil {
		t.Errorf("a key without a tag: got %v, want it valid", err)
	}
	for _, c := range []struct {
		key   store.Key
		parts []string
	}{
		{store.Key{Topic: "orders", ID: "1"}, []string{"Application"}},
		{store.Key{Application: "billing", ID: "1"}, []string{"Topic"}},
		{store.Key{Application: "billing", Topic: "orders", Tag: "paid"}, []string{"ID"}},
		{store.Key{Tag: "paid"}, []string{"Application", "Topic", "ID"}},
	} {
		wantInvalid(t, c.key.Validate(), "Key.", c.parts...)
	}
}

// wantInvalid wants err to be ErrInvalid and to name exactly the fields, each
// with the prefix.
func wantInvalid(t *testing.T, err error, prefix string, fields ...string) {
	t.Helper()
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v, want an invalid argument that names %q", err, fields)
		return
	}
	for _, f := range fields {
		if !strings.Contains(err.Error(), prefix+f+" is ") {
			t.Errorf("got %q, want it to name %s%s", err, prefix, f)
		}
	}
	if got := strings.Count(err.Error(), " is "); got != len(fields) {
		t.Errorf("got %q with %d complaints, want %d", err, got, len(fields))
	}
}

func TestUnboundedRestoresWhatIsNotHashed(t *testing.T) {
	long, most := strings.Repeat("x", store.MaxPart+1), "~"+strings.Repeat("x", store.MaxPart-1)
	for _, k := range []store.Key{
		{Application: "a", Topic: "t", ID: "1"}, {Application: "~", Topic: "~~", Tag: "~a", ID: "a~"},
		{Application: most, Topic: most, Tag: most, ID: most}, {Application: "~~~", Topic: long[1:], ID: "\x00"},
	} {
		if got, hashed := k.Bounded().Unbounded(); got != k || hashed {
			t.Errorf("got %q, hashed %v; want %q as it was", got, hashed, k)
		}
	}
	k := store.Key{Application: "~a", Topic: long, Tag: "~" + long, ID: "1"}
	want := k.Bounded()
	want.Application = "~a"
	if got, hashed := k.Bounded().Unbounded(); got != want || !hashed {
		t.Errorf("got %q, hashed %v; want %q with digests", got, hashed, want)
	}
}

func BenchmarkKeyAppendName(b *testing.B) {
	k := store.Key{Application: "billing", Topic: "orders", Tag: "paid", ID: "20240131-0000-1001"}
	buffer := make([]byte, 0, 128)
	b.ReportAllocs()
	for b.Loop() {
		_ = k.AppendName(buffer)
	}
}
