package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// node is what may stand at one place of a configuration: a section with keys,
// a list of sections, or a value.
type node struct {
	typ  reflect.Type
	keys map[string]*node // of a section
	item *node            // of a list of sections
}

// schemaOf reads the yaml tags of a struct type.
func schemaOf(t reflect.Type) *node {
	n := &node{typ: t}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		n.item = schemaOf(t.Elem())
	case t.Kind() == reflect.Struct:
		n.keys = map[string]*node{}
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); f.IsExported() && name != "" {
				n.keys[name] = schemaOf(f.Type)
			}
		}
	}
	return n
}

func schema() *node { return schemaOf(reflect.TypeFor[Config]()) }

func (n *node) secret() bool { return n.typ == reflect.TypeFor[Secret]() }

// leaves returns the values of n by path, those in lists of sections aside.
func (n *node) leaves(path string) map[string]*node {
	if n.item != nil {
		return nil
	}
	if n.keys == nil {
		return map[string]*node{path: n}
	}
	all := map[string]*node{}
	for name, child := range n.keys {
		maps.Copy(all, child.leaves(join(path, name)))
	}
	return all
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// known returns tree without the keys that n does not have, and reports those.
// It never shows their values, which may be secrets under a misspelt name.
func (n *node) known(tree any, path string, r *report) any {
	section, isSection := tree.(map[string]any)
	list, isList := tree.([]any)
	switch {
	case tree == nil:
	case isSection && n.keys != nil:
		return n.knownKeys(section, path, r)
	case isList && n.item != nil:
		clean := make([]any, len(list))
		for i, item := range list {
			clean[i] = n.item.known(item, fmt.Sprintf("%s[%d]", path, i), r)
		}
		return clean
	case n.item != nil:
		r.wrong(path, "", "want a list of sections, each beginning with - name:")
	case n.keys != nil:
		r.wrong(path, "", "want a section with keys below it: %s", strings.Join(n.names(), ", "))
	case isSection:
		r.wrong(path, "", "want a value, not a section")
	case n.secret():
		r.warn(path, "a secret in the file; better in %s or a file named by %s_file", variable(path), path)
		return tree
	default:
		return tree
	}
	return nil
}

func (n *node) knownKeys(section map[string]any, path string, r *report) any {
	clean := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(section)) {
		if child := n.keys[name]; child != nil {
			clean[name] = child.known(section[name], join(path, name), r)
			continue
		}
		r.wrong(join(path, label(name)), "", "unknown key; %s", n.advice(name))
	}
	return clean
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// label is an unknown key as part of a path: it may be anything.
func label(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return shown(name)
}

func (n *node) names() []string { return slices.Sorted(maps.Keys(n.keys)) }

// advice is the key of n that was probably meant, a place elsewhere where the
// key exists, or all keys of n.
func (n *node) advice(name string) string {
	plain := strings.ToLower(name)
	if strings.Contains(plain, ".") {
		return "keys are nested, not dotted"
	}
	if best := nearest(plain, n.names()); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	if paths := schema().named(plain, ""); len(paths) > 0 {
		return "it belongs to " + strings.Join(paths, " or ")
	}
	return "want one of " + strings.Join(n.names(), ", ")
}

// nearest is the candidate that name was probably meant to be, or "".
func nearest(name string, candidates []string) string {
	best, distance := "", max(2, len(name)/3)+1
	for _, c := range candidates {
		if strings.HasSuffix(name, "_"+c) {
			return c // consumer_group: group
		}
		if d := edits(name, c); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// named returns every path under n that ends in the key name.
func (n *node) named(name, path string) (paths []string) {
	if n.item != nil {
		return n.item.named(name, path+"[]")
	}
	for _, key := range slices.Sorted(maps.Keys(n.keys)) {
		if key == name {
			paths = append(paths, join(path, key))
		}
		paths = append(paths, n.keys[key].named(name, join(path, key))...)
	}
	return paths
}

// edits is the Levenshtein distance of two keys, by bytes. Keys much longer
// than any of ours are simply far away.
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
