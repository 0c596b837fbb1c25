package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// The bounds of a configuration file. All are far above what one can need.
const (
	maxFile   = 1 << 20 // bytes
	maxDepth  = 16      // sections and lists in each other
	maxValues = 20_000  // values, with every alias written out
)

var (
	errDeep  = fmt.Errorf("sections or lists nested more than %d deep", maxDepth)
	errLarge = fmt.Errorf("more than %d values", maxValues)
)

// parse reads data in the format that the file's name ends in. It reports a key
// that is there twice and keeps its first value.
func parse(file string, data []byte, r *report) (map[string]any, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("over %d bytes long", maxFile)
	}
	p := parser{report: r}
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".yaml", ".yml":
		return p.yaml(data)
	case ".toml":
		return p.toml(data)
	case ".json":
		return p.json(data)
	default:
		return nil, fmt.Errorf("ending %q, want .yaml, .yml, .toml or .json", ext)
	}
}

type parser struct {
	report *report
	values int
}

func (p *parser) count(depth int) error {
	p.values++
	switch {
	case depth > maxDepth:
		return errDeep
	case p.values > maxValues:
		return errLarge
	}
	return nil
}

func (p *parser) twice(path, where string) {
	p.report.wrong(path, "", "the key is there twice%s", where)
}

func section(tree any, err error) (map[string]any, error) {
	top, ok := tree.(map[string]any)
	if err == nil && !ok && tree != nil {
		err = errors.New("want sections such as rocketmq: at the top")
	}
	return top, err
}

var quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|'[^']*'")

// unquoted drops what a library's message quotes from the file, which may be a
// secret: YAML takes a password that begins with * for an alias and names it.
func unquoted(err error) error {
	text := quoted.ReplaceAllString(err.Error(), "…")
	if strings.Contains(text, "anchor") {
		text += "; a value that begins with * or & needs quotes"
	}
	return errors.New(text)
}

func (p *parser) toml(data []byte) (map[string]any, error) {
	if tooDeep(data) {
		return nil, errDeep // the library is recursive
	}
	tree := map[string]any{}
	err := toml.Unmarshal(data, &tree)
	if where := (*toml.DecodeError)(nil); errors.As(err, &where) {
		line, column := where.Position()
		return nil, fmt.Errorf("line %d, column %d: %w", line, column, unquoted(err))
	}
	return tree, err
}

// tooDeep is a rough bound: it counts open brackets and the dots of a line, in
// texts and comments too.
func tooDeep(data []byte) bool {
	const most = 100 * maxDepth
	open, dots := 0, 0
	for _, c := range data {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open = max(open-1, 0)
		case '.':
			dots++
		case '\n':
			dots = 0
		}
		if open > most || dots > most {
			return true
		}
	}
	return false
}
