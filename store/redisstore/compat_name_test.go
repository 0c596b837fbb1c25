package redisstore_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

func TestCompanionsAreNamedAsDocumented(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"MSGDEDUP:a:t:1":       "{MSGDEDUP:a:t:1}:o",
		"MSGDEDUP:a:t:{1":      "{MSGDEDUP:a:t:{1}:o",
		"MSGDEDUP:a:t:{1}":     "{1}:o:MSGDEDUP:a:t:{1}",
		"MSGDEDUP:a:t:{1}:o":   "{1}:o:MSGDEDUP:a:t:{1}:o",
		"MSGDEDUP:a:t:{{1}}":   "{{1}:o:MSGDEDUP:a:t:{{1}}",
		"MSGDEDUP:a:t:1}{2}":   "{2}:o:MSGDEDUP:a:t:1}{2}",
		"MSGDEDUP:a:t:{}":      "{7238}:o:MSGDEDUP:a:t:{}",
		"MSGDEDUP:a:t:{}{1}":   "{11178}:o:MSGDEDUP:a:t:{}{1}",
		"MSGDEDUP:a:t:1}":      "{49179}:o:MSGDEDUP:a:t:1}",
		"MSGDEDUP:a:t:}:o:{":   "{242}:o:MSGDEDUP:a:t:}:o:{",
		"MSGDEDUP:{a}:t:1}:o:": "{a}:o:MSGDEDUP:{a}:t:1}:o:",
	} {
		if got := redisstore.Companion(name); got != want {
			t.Errorf("companion of %q: got %q, want %q", name, got, want)
		}
	}
}

// hostile draws a key whose parts are made of what names and hash tags are made
// of, and of any bytes. Half of the keys lack one of the braces.
func hostile(r *rand.Rand) store.Key {
	lacking := []string{"\n", "\n", "{", "}"}[r.IntN(4)]
	part := func(least int) string {
		var b strings.Builder
		for n := least + r.IntN(8); n > 0; n-- {
			switch pick := r.IntN(10); {
			case pick < 5:
				b.WriteString([]string{"{", "}", "{}", "}:o", "}:o:", "{0}", ":", "MSGDEDUP:"}[r.IntN(8)])
			case pick < 8:
				b.WriteByte(byte(r.IntN(256)))
			default:
				b.WriteByte('a' + byte(r.IntN(3)))
			}
		}
		return strings.ReplaceAll(b.String(), lacking, "-")
	}
	return store.Key{Application: part(1), Topic: part(1), Tag: part(0), ID: part(1)}
}

// mainOf reads the name of the main key back from that of its companion.
func mainOf(companion string) string {
	inside, rest, _ := strings.Cut(companion, "}")
	if name, found := strings.CutPrefix(rest, ":o:"); found {
		return name
	}
	return strings.TrimPrefix(inside, "{")
}

func TestCompanionsOfHostileNamesAreInTheSlotOfTheirMainKeys(t *testing.T) {
	t.Parallel()
	client := private(t, "--cluster-enabled", "yes").WithTimeout(ample) // for all of it at once
	r := rand.New(rand.NewPCG(2024, 11))
	const names = 20_000
	seen, owners, kinds := map[string]bool{}, map[string]string{}, map[string]int{}
	slotsOf := map[string][2]*redis.IntCmd{}
	_, err := client.Pipelined(within(t, ample), func(p redis.Pipeliner) error {
		for len(seen) < names {
			name := compatName(hostile(r))
			if seen[name] {
				continue
			}
			seen[name] = true
			companion := redisstore.Companion(name)
			if other, taken := owners[companion]; taken {
				t.Errorf("%q and %q share the companion %q", name, other, companion)
			}
			owners[companion] = name
			if got := mainOf(companion); got != name || strings.HasPrefix(companion, "MSGDEDUP:") {
				t.Errorf("companion %q of %q: reads back as %q", companion, name, got)
			}
			kinds[kindOf(name)]++
			ctx := context.Background()
			slotsOf[name] = [2]*redis.IntCmd{p.ClusterKeySlot(ctx, name), p.ClusterKeySlot(ctx, companion)}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, cmds := range slotsOf {
		if a, b := cmds[0].Val(), cmds[1].Val(); a != b {
			t.Errorf("%q is in slot %d, its companion %q in %d", name, a, redisstore.Companion(name), b)
		}
	}
	for name := range seen {
		if _, taken := owners[name]; taken {
			t.Errorf("%q is a main key and a companion", name)
		}
	}
	for kind, n := range kinds {
		if n < names/20 || len(kinds) != 3 {
			t.Errorf("a cluster hashes %s of %d names; want three kinds, each of %d or more", kind, n, names/20)
		}
	}
}

// kindOf tells what a cluster hashes of a name.
func kindOf(name string) string {
	_, rest, opened := strings.Cut(name, "{")
	switch end := strings.Index(rest, "}"); {
	case !strings.Contains(name, "}"):
		return "the whole"
	case opened && end > 0:
		return "a part"
	}
	return "the whole, which holds a brace,"
}

func FuzzCompanion(f *testing.F) {
	client := private(f, "--cluster-enabled", "yes")
	for _, name := range []string{"", "{", "}", "{}", "a{b}c", "a}b{c", "{}{a}", "}:o:", "\x00\xff{\n}"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		name = "MSGDEDUP:" + name
		companion := redisstore.Companion(name)
		if got := mainOf(companion); got != name {
			t.Errorf("companion %q of %q reads back as %q", companion, name, got)
		}
		a, b := client.ClusterKeySlot(t.Context(), name).Val(), client.ClusterKeySlot(t.Context(), companion).Val()
		if a != b {
			t.Errorf("%q is in slot %d, its companion %q in %d", name, a, companion, b)
		}
	})
}
