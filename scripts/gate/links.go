package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	testName  = regexp.MustCompile("`(Test\\w+)`")
	localLink = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)\s]*)?\)`)
)

// checkLinks finds tests that Markdown files name and nobody has written, and
// links to files that are not there.
func checkLinks(m *module) ([]string, error) {
	tests, pages, err := readTree(m.dir)
	if err != nil {
		return nil, err
	}
	var findings []string
	for page, text := range pages {
		report := func(format string, args ...any) {
			findings = append(findings, page+": "+fmt.Sprintf(format, args...))
		}
		for _, name := range testName.FindAllStringSubmatch(text, -1) {
			if !tests[name[1]] {
				report("there is no test %s", name[1])
			}
		}
		for _, link := range localLink.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(m.dir, filepath.Dir(page), link[1])); err != nil {
				report("links to %s, which is not there", link[1])
			}
		}
	}
	slices.Sort(findings)
	return slices.Compact(findings), nil
}

// readTree returns the names of all tests, and the Markdown files by path.
func readTree(dir string) (tests map[string]bool, pages map[string]string, err error) {
	tests, pages = map[string]bool{}, map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		isTest, isPage := strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, ".md")
		if err != nil || d.IsDir() || !isTest && !isPage {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if isPage {
			page, err := filepath.Rel(dir, path)
			pages[page] = string(text)
			return err
		}
		for _, f := range testFunc.FindAllStringSubmatch(string(text), -1) {
			tests[f[1]] = true
		}
		return nil
	})
	return tests, pages, err
}
