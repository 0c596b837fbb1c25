package main

import (
	"fmt"
	"slices"
	"strings"
)

// checkImports enforces the layout: the contract and the engine stand on the
// standard library alone, imports point inward, and only the outermost packages
// choose a driver. Tests may import anything.
func checkImports(m *module) ([]string, error) {
	var findings []string
	for _, p := range m.own {
		from := m.short(p.ImportPath)
		for _, path := range p.Imports {
			to := m.short(path)
			switch {
			case to == "" && isCore(from) && !m.standard(path):
				findings = append(findings, fmt.Sprintf(
					"%s imports %s; it may import only the standard library and store", from, path))
			case to != "" && layer(to) > layer(from):
				findings = append(findings, fmt.Sprintf("%s imports %s; imports point inward", from, to))
			case path == "testing" && !isTestSupport(from):
				findings = append(findings, fmt.Sprintf("%s imports testing; only packages named …test may", from))
			}
		}
		findings = append(findings, drivers(m, p)...)
	}
	slices.Sort(findings)
	return findings, nil
}

// drivers finds the drivers that p links without being allowed to, however
// indirectly.
func drivers(m *module, p *pkg) []string {
	from := m.short(p.ImportPath)
	if isTestSupport(from) || within(from, "config/open", "cmd", "sample", "scripts") {
		return nil
	}
	var findings []string
	for _, path := range p.Deps {
		if to := m.short(path); isDriver(to) && to != from {
			findings = append(findings, fmt.Sprintf(
				"%s links the driver %s; only config/open, cmd, sample and tests may choose one", from, to))
		}
	}
	return findings
}

// isDriver reports whether path is a driver: store/memstore, store/redisstore …
func isDriver(path string) bool {
	name, ok := strings.CutPrefix(path, "store/")
	return ok && strings.HasSuffix(name, "store") && !strings.Contains(name, "/")
}

// isCore reports whether path may link nothing but the standard library.
func isCore(path string) bool {
	return path == "store" || within(path, "store/sweep", "store/reconcile", "listener/dedup")
}

func isTestSupport(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return strings.HasSuffix(name, "test") })
}

// layer orders the packages from the inside out. A package imports its own
// layer and those below.
func layer(path string) int {
	switch {
	case within(path, "store"):
		return 0
	case within(path, "listener/dedup"):
		return 1
	case within(path, "listener"):
		return 2
	case path == "config":
		return 3
	case within(path, "config"):
		return 4
	}
	return 5
}

func within(path string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return path == root || strings.HasPrefix(path, root+"/")
	})
}

func (m *module) standard(path string) bool {
	p := m.all[path]
	return p != nil && p.Module == nil
}
