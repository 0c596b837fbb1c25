package listener

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

const keyExpressions = "keys, property:NAME, json:PATH, message_id, default, " +
	"or a template such as {topic}:{json:order.no}"

const templatePieces = "{topic}, {tag}, {keys}, {property:NAME}, {json:PATH} or {message_id}"

// ParseKey turns a key expression of a configuration file into a KeyFunc:
//
//	keys           KeyFromKeys
//	property:NAME  KeyFromProperty(NAME)
//	json:PATH      KeyFromJSON(PATH)
//	message_id     MessageID
//	default        DefaultKey
//
// and, when it holds a brace, a [Template]. Errors say what is allowed.
func ParseKey(expr string) (KeyFunc, error) {
	key, err := parseExpr(expr)
	if err != nil {
		return nil, fmt.Errorf("listener: key %q: %w", expr, err)
	}
	return key, nil
}

func parseExpr(expr string) (KeyFunc, error) {
	kind, _, hasArgument := strings.Cut(expr, ":")
	named := hasArgument && (kind == "property" || kind == "json")
	switch braces := strings.ContainsAny(expr, "{}"); {
	case named && braces:
		return nil, fmt.Errorf("no braces after %s: here; in a template they are around it, as in {%s:NAME}", kind, kind)
	case named:
		return parsePiece(expr)
	case braces:
		return parseTemplate(expr)
	case expr == "default":
		return DefaultKey(), nil
	case expr == "topic" || expr == "tag":
		return nil, errors.New("it is the same for many messages, and all but one of them would be dropped")
	}
	key, err := parsePiece(expr)
	if err != nil {
		return nil, errors.New("want " + keyExpressions)
	}
	return key, nil
}

// parsePiece reads what may stand between the braces of a template.
func parsePiece(piece string) (KeyFunc, error) {
	kind, argument, hasArgument := strings.Cut(piece, ":")
	switch {
	case hasArgument && (argument == "" || strings.TrimSpace(argument) != argument):
		return nil, fmt.Errorf("%s: must be followed by a name without blanks around it", kind)
	case hasArgument && kind == "property":
		return KeyFromProperty(argument), nil
	case hasArgument && kind == "json":
		return KeyFromJSON(argument), nil
	}
	switch piece {
	case "topic":
		return func(m *primitive.MessageExt) (string, error) { return m.Topic, nil }, nil
	case "tag":
		return func(m *primitive.MessageExt) (string, error) { return m.GetTags(), nil }, nil
	case "keys":
		return KeyFromKeys(), nil
	case "message_id":
		return MessageID(), nil
	}
	return nil, fmt.Errorf("{%s} is no piece: want %s", piece, templatePieces)
}

// Template builds keys of several pieces, such as {topic}:{json:order.no}. The
// pieces are {topic}, {tag}, {keys}, {property:NAME}, {json:PATH} and
// {message_id}; {{ and }} stand for literal braces.
//
// A message that lacks a piece has no key (""). Different values of the pieces
// never give the same key: in every piece but the last, '%' and the byte that
// begins the text behind the piece are written as %XX. For that the text
// between two pieces must begin with an ASCII punctuation character other than
// '%', or a blank. A template without a piece that differs between messages is
// refused.
func Template(template string) (KeyFunc, error) {
	key, err := parseTemplate(template)
	if err != nil {
		return nil, fmt.Errorf("listener: key %q: %w", template, err)
	}
	return key, nil
}

// compiled alternates: text[0] piece[0] text[1] piece[1] … text[len(piece)].
type compiled struct {
	texts  []string
	pieces []KeyFunc
}

func parseTemplate(template string) (KeyFunc, error) {
	t, text, telling := &compiled{}, strings.Builder{}, false
	for rest := template; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			text.WriteByte(rest[0])
			rest = rest[2:]
		case rest[0] == '}':
			return nil, errors.New("a } without its {; a literal brace is written }}")
		case rest[0] != '{':
			text.WriteByte(rest[0])
			rest = rest[1:]
		default:
			name, after, closed := strings.Cut(rest[1:], "}")
			if !closed || strings.Contains(name, "{") {
				return nil, errors.New("a { without its }; a literal brace is written {{")
			}
			if err := t.add(text.String(), name); err != nil {
				return nil, err
			}
			telling = telling || name != "topic" && name != "tag"
			text.Reset()
			rest = after
		}
	}
	if !telling {
		return nil, errors.New("no piece that tells messages apart: add {keys}, {property:NAME}, {json:PATH} or {message_id}")
	}
	t.texts = append(t.texts, text.String())
	return t.key, nil
}

func (t *compiled) add(text, name string) error {
	if len(t.pieces) > 0 && (text == "" || !separates(text[0])) {
		return fmt.Errorf("two pieces need a separator before {%s}, such as a colon", name)
	}
	piece, err := parsePiece(name)
	if err != nil {
		return err
	}
	t.texts = append(t.texts, text)
	t.pieces = append(t.pieces, piece)
	return nil
}

// separates tells the bytes that cannot be part of an escape.
func separates(c byte) bool {
	letterOrDigit := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
	return c >= ' ' && c < 0x7f && c != '%' && !letterOrDigit
}

func (t *compiled) key(m *primitive.MessageExt) (string, error) {
	key := make([]byte, 0, 64)
	last := len(t.pieces) - 1
	for i, piece := range t.pieces {
		value, err := piece(m)
		if err != nil || value == "" {
			return "", err
		}
		key = append(key, t.texts[i]...)
		if i == last {
			key = append(key, value...)
			break
		}
		key = appendEscaped(key, value, t.texts[i+1][0])
	}
	return string(append(key, t.texts[last+1]...)), nil
}

func appendEscaped(dst []byte, value string, end byte) []byte {
	const digits = "0123456789ABCDEF"
	for i := 0; i < len(value); i++ {
		if c := value[i]; c != '%' && c != end {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', digits[value[i]>>4], digits[value[i]&15])
	}
	return dst
}
