package rmqtest

import (
	"slices"
	"strings"
)

// tagFilter is the tags that a consumer wants; nil is all messages.
type tagFilter []string

// newTagFilter reads an expression like "paid || shipped".
func newTagFilter(expression string) tagFilter {
	if expression == "" || expression == "*" {
		return nil
	}
	var tags tagFilter
	for tag := range strings.SplitSeq(expression, "||") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

func (f tagFilter) has(tag string) bool { return f == nil || slices.Contains(f, tag) }
