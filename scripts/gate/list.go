package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// pkg is what the checks need to know of one package; see "go help list".
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string // all packages it links, tests aside
	Module     *struct {
		Path string
		Main bool
		Dir  string
	}
}

// module is the main module and everything it links.
type module struct {
	path, dir string
	own       []*pkg          // its packages, sorted
	all       map[string]*pkg // by import path, the standard library included
	tests     map[string]bool // modules that its tests link
}

// load lists the module in dir. The platform is fixed, so that the answer is
// the same on every machine.
func load(dir string) (*module, error) {
	listed, err := golist(dir, "-deps")
	if err != nil {
		return nil, err
	}
	m := &module{all: map[string]*pkg{}, tests: map[string]bool{}}
	for _, p := range listed {
		m.all[p.ImportPath] = p
		if p.Module != nil && p.Module.Main {
			m.path, m.dir = p.Module.Path, p.Module.Dir
			m.own = append(m.own, p)
		}
	}
	if m.path == "" {
		return nil, errors.New("no package of the module was listed")
	}
	listed, err = golist(dir, "-deps", "-test")
	for _, p := range listed {
		if p.Module != nil && !p.Module.Main {
			m.tests[p.Module.Path] = true
		}
	}
	return m, err
}

func golist(dir string, flags ...string) ([]*pkg, error) {
	args := append([]string{"list", "-json=ImportPath,Name,Dir,GoFiles,Imports,Deps,Module"}, flags...)
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var listed []*pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(pkg)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return listed, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		listed = append(listed, p)
	}
}

// short is the path of a package inside the module, "." for the root, or ""
// when it belongs to another one.
func (m *module) short(path string) string {
	if path == m.path {
		return "."
	}
	rest, ok := strings.CutPrefix(path, m.path+"/")
	if !ok {
		return ""
	}
	return rest
}
