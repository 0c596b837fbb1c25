package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// Records are read in two languages, which must not differ about any value: what
// one takes for done and the other for nonsense would be skipped, or run twice.
func FuzzGoReadsRecordsAsLuaDoes(f *testing.F) {
	client := shared(f)
	for _, value := range append(malformed, wellformed...) {
		f.Add(value)
	}
	name := prefix + "{decode}"
	f.Fuzz(func(t *testing.T, value string) {
		ctx, cancel := context.WithTimeout(t.Context(), ample)
		defer cancel()
		if err := client.Set(ctx, name, value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		want, err := client.Eval(ctx, redisstore.DecodeLua, []string{name}).Slice()
		if err != nil && err != redis.Nil {
			t.Fatal(err)
		}
		kind, token, keep, ok := redisstore.Decode(value)
		switch {
		case ok != (err == nil):
			t.Errorf("%q: Go reads it: %v, Lua: %v", value, ok, err == nil)
		case ok && (kind != want[0] || token != want[1] || keep != want[2]):
			t.Errorf("%q: got %v %v %v, want %v", value, kind, token, keep, want)
		}
	})
}

var wellformed = []string{
	"P|" + someToken + "|1|20000|30000|0",
	"P|" + someToken + "|0|1|1|9999999999999",
	"R|" + someToken + "|0|30000|1700000000000",
	"D|" + someToken + "|1",
	"D|" + someToken + "|9999999999999",
	"X|" + someToken + "|0|1",
}

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, ok := redisstore.Decode(wellformed[0]); !ok {
			b.Fatal("not read")
		}
	}
}
