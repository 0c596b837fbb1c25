// Command testsum reads the output of one or more "go test -json" runs and
// prints what a person wants to see of it. Use this when you want one true
// count over several runs, as scripts/test.sh does:
//
//	go test -json ./... | go run ./scripts/testsum
//
// It prints a line for each package with tests, the whole output of everything
// that failed, the reason of every skipped test, the lines with "figure: " of
// those that passed, and last one line such as
// "123 passed, 0 failed, 2 skipped". A package that fails outside its tests,
// for instance because it does not build, counts as one failure. It exits 1
// when anything failed or no test ran.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	s := newSummary(os.Stdout)
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			s.add(line)
		}
		if err != nil {
			break
		}
	}
	fmt.Println(s.close())
	if !s.good() {
		os.Exit(1)
	}
}
