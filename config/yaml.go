package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

func (p *parser) yaml(data []byte) (map[string]any, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, unquoted(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	tree, err := p.yamlValue(document.Content[0], "", 0)
	return section(tree, err)
}

func (p *parser) yamlValue(n *yaml.Node, path string, depth int) (any, error) {
	if err := p.count(depth); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return p.yamlValue(n.Alias, path, depth+1)
	case yaml.MappingNode:
		return p.yamlSection(n, path, depth)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for i, item := range n.Content {
			v, err := p.yamlValue(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	var v any
	if n.Decode(&v) != nil {
		return nil, fmt.Errorf("yaml: line %d: a value that does not fit its tag", n.Line)
	}
	return v, nil
}

func (p *parser) yamlSection(n *yaml.Node, path string, depth int) (any, error) {
	section, merged := map[string]any{}, map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("yaml: line %d: a key that is not a name", key.Line)
		}
		v, err := p.yamlValue(value, join(path, key.Value), depth+1)
		if err != nil {
			return nil, err
		}
		if key.ShortTag() == "!!merge" {
			if !merge(merged, v) {
				return nil, fmt.Errorf("yaml: line %d: << merges sections only", key.Line)
			}
			continue
		}
		if _, taken := section[key.Value]; taken {
			p.twice(join(path, key.Value), fmt.Sprintf(", again in line %d", key.Line))
			continue
		}
		section[key.Value] = v
	}
	merge(section, merged)
	return section, nil
}

// merge adds to section what it lacks from v, a section or a list of them.
func merge(section map[string]any, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if _, taken := section[name]; !taken {
				section[name] = value
			}
		}
		return true
	case []any:
		for _, one := range v {
			if _, isSection := one.(map[string]any); !isSection || !merge(section, one) {
				return false
			}
		}
		return true
	}
	return false
}
