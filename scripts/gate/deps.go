package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const depsHeader = `# Third-party modules that each package links, tests aside, and why each module is here.
# Checked by scripts/check.sh; after a wanted change run
#
#	go run ./scripts/gate deps -write
#
# and give every new module its reason. "tests" lists what only tests link.
`

const testsOnly = "tests"

// deps is the content of scripts/deps.txt.
type deps struct {
	links   map[string][]string // package, inside the module, to sorted modules
	reasons map[string]string   // module to reason
}

func depsFile(m *module) string { return filepath.Join(m.dir, "scripts", "deps.txt") }

// checkDeps compares what is linked with what scripts/deps.txt says.
func checkDeps(m *module) ([]string, error) {
	golden, err := readDeps(depsFile(m))
	if err != nil {
		return nil, err
	}
	now := deps{links: linked(m)}
	findings := drift(golden, now)
	if len(findings) > 0 {
		findings = append(findings, "if this is wanted: go run ./scripts/gate deps -write")
	}
	for _, mod := range now.modules() {
		if golden.reasons[mod] == "" {
			findings = append(findings, "scripts/deps.txt: "+mod+" has no reason")
		}
	}
	return findings, nil
}

// writeDeps brings scripts/deps.txt up to date and keeps its reasons.
func writeDeps(m *module) error {
	golden, err := readDeps(depsFile(m))
	if err != nil {
		return err
	}
	now := deps{links: linked(m), reasons: golden.reasons}
	return os.WriteFile(depsFile(m), []byte(now.String()), 0o644)
}

// linked maps every package that links third-party modules to those modules.
func linked(m *module) map[string][]string {
	links := map[string][]string{}
	seen := map[string]bool{}
	for _, p := range m.own {
		set := map[string]bool{}
		for _, path := range p.Deps {
			if d := m.all[path]; d != nil && d.Module != nil && !d.Module.Main {
				set[d.Module.Path], seen[d.Module.Path] = true, true
			}
		}
		if len(set) > 0 {
			links[m.short(p.ImportPath)] = slices.Sorted(maps.Keys(set))
		}
	}
	only := maps.Clone(m.tests)
	maps.DeleteFunc(only, func(mod string, _ bool) bool { return seen[mod] })
	if len(only) > 0 {
		links[testsOnly] = slices.Sorted(maps.Keys(only))
	}
	return links
}

// drift tells every link that one side has and the other lacks.
func drift(golden, now deps) []string {
	var findings []string
	tell := func(format string, a, b deps) {
		for _, p := range slices.Sorted(maps.Keys(a.links)) {
			for _, mod := range a.links[p] {
				if !slices.Contains(b.links[p], mod) {
					findings = append(findings, fmt.Sprintf(format, p, mod))
				}
			}
		}
	}
	tell("%s now links %s", now, golden)
	tell("%s no longer links %s", golden, now)
	return findings
}

// modules lists every linked module once.
func (d deps) modules() []string {
	set := map[string]bool{}
	for _, mods := range d.links {
		for _, mod := range mods {
			set[mod] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// String is the file's text: the header, a reason for each module, and the
// modules of each package.
func (d deps) String() string {
	var b strings.Builder
	b.WriteString(depsHeader + "\n")
	for _, mod := range d.modules() {
		b.WriteString(strings.TrimSpace("why "+mod+": "+d.reasons[mod]) + "\n")
	}
	for _, p := range slices.Sorted(maps.Keys(d.links)) {
		fmt.Fprintf(&b, "\n%s\n\t%s\n", p, strings.Join(d.links[p], "\n\t"))
	}
	return b.String()
}

// readDeps reads the file; one that does not exist is empty.
func readDeps(name string) (deps, error) {
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return deps{}, err
	}
	return parseDeps(string(text))
}

func parseDeps(text string) (deps, error) {
	d := deps{links: map[string][]string{}, reasons: map[string]string{}}
	var current string
	for i, line := range strings.Split(text, "\n") {
		why, isWhy := strings.CutPrefix(line, "why ")
		mod, isLink := strings.CutPrefix(line, "\t")
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case isWhy:
			name, reason, _ := strings.Cut(why, ":")
			d.reasons[name] = strings.TrimSpace(reason)
		case isLink && current == "":
			return deps{}, fmt.Errorf("scripts/deps.txt:%d: a module before any package", i+1)
		case isLink:
			d.links[current] = append(d.links[current], strings.TrimSpace(mod))
		default:
			current = strings.TrimSpace(line)
		}
	}
	return d, nil
}
