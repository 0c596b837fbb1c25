package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree writes a module called m, whose files are given by name and content, and
// loads it.
func tree(t *testing.T, files map[string]string) *module {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module m\n\ngo 1.26\n")
	for name, text := range files {
		write(name, text)
	}
	m, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func findings(t *testing.T, c check, m *module) []string {
	t.Helper()
	found, err := c(m)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// source is a package that imports the given paths and nothing else.
func source(name string, imports ...string) string {
	text := "package " + name + "\n"
	for _, path := range imports {
		text += "import _ \"" + path + "\"\n"
	}
	return text
}

// redis is a third-party module for a tree.
var redis = map[string]string{
	"go.mod":       "module m\n\ngo 1.26\n\nrequire x/redis v0.0.0\n\nreplace x/redis => ./redis\n",
	"redis/go.mod": "module x/redis\n",
	"redis/r.go":   source("redis"),
}

func TestAGoodTreeHasNoImportFindings(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"store/s.go":                        source("store", "context"),
		"store/memstore/s.go":               source("memstore", "m/store"),
		"store/redisstore/s.go":             source("redisstore", "m/store", "x/redis"),
		"store/redisstore/contract_test.go": source("redisstore_test", "m/store/memstore", "testing"),
		"store/storetest/s.go":              source("storetest", "m/store", "testing"),
		"store/reconcile/r.go":              source("reconcile", "m/store"),
		"store/sweep/s.go":                  source("sweep", "m/store"),
		"listener/dedup/g.go":               source("dedup", "m/store"),
		"listener/l.go":                     source("listener", "m/listener/dedup", "m/store", "x/redis"),
		"listener/listenertest/t.go":        source("listenertest", "m/store/memstore", "m/listener", "testing"),
		"config/c.go":                       source("config", "m/listener"),
		"config/open/o.go":                  source("open", "m/config", "m/store/redisstore", "m/store/memstore"),
		"cmd/ctl/main.go":                   source("main", "m/config/open") + "func main() {}\n",
	}
	maps.Copy(files, redis)
	if found := findings(t, checkImports, tree(t, files)); len(found) > 0 {
		t.Errorf("findings: %q", found)
	}
}

func TestEachForbiddenImportIsFound(t *testing.T) {
	t.Parallel()
	const (
		core   = " imports x/redis; it may import only the standard library and store"
		chosen = " links the driver store/memstore; only config/open, cmd, sample and tests may choose one"
	)
	for name, tc := range map[string]struct{ file, text, want string }{
		"the contract stays with the standard library": {"store/s.go", source("store", "x/redis"), "store" + core},
		"the engine stays with the standard library": {"listener/dedup/g.go", source("dedup", "x/redis"),
			"listener/dedup" + core},
		"the sweeper stays with the standard library": {"store/sweep/s.go", source("sweep", "x/redis"),
			"store/sweep" + core},
		"the sweeper knows no driver": {"store/sweep/s.go", source("sweep", "m/store/memstore"),
			"store/sweep" + chosen},
		"the reconciler stays with the standard library": {"store/reconcile/r.go", source("reconcile", "x/redis"),
			"store/reconcile" + core},
		"the reconciler knows no engine": {"store/reconcile/r.go", source("reconcile", "m/listener/dedup"),
			"store/reconcile imports listener/dedup; imports point inward"},
		"the engine knows no driver": {"listener/dedup/g.go", source("dedup", "m/store/memstore"),
			"listener/dedup" + chosen},
		"the listener knows no driver": {"listener/l.go", source("listener", "m/store/memstore"),
			"listener" + chosen},
		"a driver knows no other": {"store/redisstore/s.go", source("redisstore", "m/store/memstore"),
			"store/redisstore" + chosen},
		"nor through another package": {"config/c.go", source("config", "m/store/filter"), "config" + chosen},
		"a driver knows no engine": {"store/redisstore/s.go", source("redisstore", "m/listener/dedup"),
			"store/redisstore imports listener/dedup; imports point inward"},
		"the engine knows no configuration": {"listener/dedup/g.go", source("dedup", "m/config"),
			"listener/dedup imports config; imports point inward"},
		"nobody links testing": {"listener/l.go", source("listener", "testing"),
			"listener imports testing; only packages named …test may"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"store/s.go":          source("store"),
				"store/memstore/s.go": source("memstore", "m/store"),
				"store/filter/f.go":   source("filter", "m/store/memstore"),
				"listener/dedup/g.go": source("dedup"),
				"config/c.go":         source("config"),
			}
			maps.Copy(files, redis)
			files[tc.file] = tc.text
			if found := findings(t, checkImports, tree(t, files)); !slices.Contains(found, tc.want) {
				t.Errorf("got %q, want %q among them", found, tc.want)
			}
		})
	}
}

func TestEveryExportedNameNeedsAComment(t *testing.T) {
	t.Parallel()
	const about = "// Package p is here. Use\n// this when you test.\n"
	m := tree(t, map[string]string{"p/p.go": about + `package p

// Good is documented.
type Good struct{}

func (Good) Bad()    {}
func (*Good) Worse() {}
func (good) Hidden() {}

type good struct{}

type Naked interface {
	// Told is documented.
	Told()
	Untold()
}

// Single is documented, and so is its method.
type Single interface{ Only() }

// These two are documented.
const (
	A = 1
	B = 2
)

var C, d = 3, 4

var E = 5 // documented beside it

func F() {}
`})
	want := []string{
		"p/p.go:14: Naked has no comment", "p/p.go:17: Untold has no comment", "p/p.go:29: C has no comment",
		"p/p.go:33: F has no comment", "p/p.go:8: Bad has no comment", "p/p.go:9: Worse has no comment",
	}
	if got := findings(t, checkDocs, m); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAPackageCommentSaysWhenToUseIt(t *testing.T) {
	t.Parallel()
	const want = `p: the package comment's first paragraph lacks "Use this when …"`
	for name, text := range map[string]string{
		"no comment":       "package p\n",
		"says it too late": "// Package p is here.\n//\n// Use this when you test.\npackage p\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := findings(t, checkDocs, tree(t, map[string]string{"p/p.go": text}))
			if !slices.Equal(got, []string{want}) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestDepsDriftAndMissingReasonsAreFound(t *testing.T) {
	t.Parallel()
	const remedy = "if this is wanted: go run ./scripts/gate deps -write"
	m := tree(t, map[string]string{
		"go.mod": "module m\n\ngo 1.26\n\nrequire (\n\tx/a v0.0.0\n\tx/t v0.0.0\n)\n\n" +
			"replace (\n\tx/a => ./a\n\tx/t => ./t\n)\n",
		"a/go.mod": "module x/a\n", "a/a.go": source("a"),
		"t/go.mod": "module x/t\n", "t/t.go": source("t"),
		"p/p.go":           source("p", "x/a"),
		"p/p_test.go":      source("p", "x/t", "testing"),
		"q/q.go":           source("q", "m/p"),
		"scripts/deps.txt": "why x/a: it is needed\nwhy x/z: it was needed\n\np\n\tx/a\n\tx/z\n",
	})
	want := []string{"q now links x/a", "tests now links x/t", "p no longer links x/z", remedy,
		"scripts/deps.txt: x/t has no reason"}
	if got := findings(t, checkDeps, m); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if err := writeDeps(m); err != nil {
		t.Fatal(err)
	}
	want = []string{"scripts/deps.txt: x/t has no reason"}
	if got := findings(t, checkDeps, m); !slices.Equal(got, want) {
		t.Errorf("after writing: got %q, want %q", got, want)
	}
	text, err := os.ReadFile(depsFile(m))
	if err != nil {
		t.Fatal(err)
	}
	const body = "why x/a: it is needed\nwhy x/t:\n\np\n\tx/a\n\nq\n\tx/a\n\ntests\n\tx/t\n"
	if got, want := string(text), depsHeader+"\n"+body; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

func TestRunAnswersWrongArgumentsWithUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"dependencies"}, {"docs", "-write"}, {"deps", "write"}} {
		var out, errs strings.Builder
		if code := run(args, &out, &errs); code != 2 || !strings.HasPrefix(errs.String(), "usage:") {
			t.Errorf("run(%q) = %d, %q; want 2 and the usage", args, code, errs.String())
		}
	}
}

func TestPagesNameTestsAndFilesThatExist(t *testing.T) {
	t.Parallel()
	m := tree(t, map[string]string{
		"a.go":        source("a"),
		"a_test.go":   "package a\n\nfunc TestThere(t *T) {}\n",
		"README.md":   "`TestThere` and `TestGone`, [a](a.go#L3), [b](b.go), [web](https://x.org/y), [top](#top)\n",
		"sub/PAGE.md": "`TestThere`, [up](../a.go), [a](a.go)\n",
	})
	want := []string{
		"README.md: links to b.go, which is not there",
		"README.md: there is no test TestGone",
		"sub/PAGE.md: links to a.go, which is not there",
	}
	if got := findings(t, checkLinks, m); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
