package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

func (p *parser) json(data []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	tree, err := p.jsonValue(decoder, "", 0)
	if err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more than one value")
		}
	}
	if err != nil {
		line := 1 + bytes.Count(data[:decoder.InputOffset()], []byte{'\n'})
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return section(tree, nil)
}

func (p *parser) jsonValue(d *json.Decoder, path string, depth int) (any, error) {
	if err := p.count(depth); err != nil {
		return nil, err
	}
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	switch {
	case err != nil:
		return nil, err
	case token == json.Delim('{'):
		return p.jsonSection(d, path, depth)
	case token != json.Delim('['):
		return token, nil
	}
	list := []any{}
	for d.More() {
		v, err := p.jsonValue(d, fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err = d.Token()
	return list, err
}

func (p *parser) jsonSection(d *json.Decoder, path string, depth int) (any, error) {
	section := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder accepts nothing else before a colon
		v, err := p.jsonValue(d, join(path, name), depth+1)
		if err != nil {
			return nil, err
		}
		if _, taken := section[name]; taken {
			p.twice(join(path, name), "")
			continue
		}
		section[name] = v
	}
	_, err := d.Token()
	return section, err
}
