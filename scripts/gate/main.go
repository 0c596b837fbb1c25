// Command gate checks the rules of this repository that no general linter
// knows. Use this when a check of scripts/check.sh fails and you want to run
// that check alone, or after adding a dependency:
//
//	go run ./scripts/gate                 all checks
//	go run ./scripts/gate deps [-write]   which package links which module
//	go run ./scripts/gate imports         imports point inward
//	go run ./scripts/gate docs            exported names are documented
//	go run ./scripts/gate links           Markdown names tests and files that exist
//
// It reads the module in the working directory and prints one finding a line.
// It exits 1 when there are findings and 2 when it could not look.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
)

// A check returns its findings, one line each.
type check func(m *module) ([]string, error)

var order = []string{"imports", "docs", "links", "deps"}

func checkNamed(name string) check {
	switch name {
	case "deps":
		return checkDeps
	case "docs":
		return checkDocs
	case "imports":
		return checkImports
	case "links":
		return checkLinks
	}
	return nil
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	names := order
	if len(args) > 0 {
		names = args[:1]
	}
	write := slices.Equal(args, []string{"deps", "-write"})
	if checkNamed(names[0]) == nil || len(args) > 1 && !write {
		fmt.Fprintln(errs, "usage: go run ./scripts/gate [deps [-write] | imports | docs | links]")
		return 2
	}
	m, err := load(".")
	if err == nil && write {
		err = writeDeps(m)
	}
	if err != nil {
		fmt.Fprintln(errs, "gate:", err)
		return 2
	}
	return report(m, names, out, errs)
}

func report(m *module, names []string, out, errs io.Writer) int {
	code := 0
	for _, name := range names {
		findings, err := checkNamed(name)(m)
		if err != nil {
			fmt.Fprintf(errs, "gate: %s: %v\n", name, err)
			return 2
		}
		for _, f := range findings {
			fmt.Fprintf(out, "%s: %s\n", name, f)
			code = 1
		}
	}
	return code
}
