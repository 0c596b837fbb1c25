package listener_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

func parsed(t testing.TB, expr string) listener.KeyFunc {
	t.Helper()
	key, err := listener.ParseKey(expr)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	full := message(`{"order":{"no":17}}`, "KEYS", "K1", "TAGS", "paid", "SHOP", "s:1", "UNIQ_KEY", "U1")
	full.MsgId = "U1"
	bare := message(`{}`)
	runKeyCases(t, []keyCase{
		{"keys", parsed(t, "keys"), full, "K1", ""},
		{"a property", parsed(t, "property:SHOP"), full, "s:1", ""},
		{"a JSON path", parsed(t, "json:order.no"), full, "17", ""},
		{"message id", parsed(t, "message_id"), full, "U1", ""},
		{"the last piece stays as it is", parsed(t, "{topic}:{property:SHOP}"), full, "orders:s:1", ""},
		{"an earlier piece is escaped", parsed(t, "{property:SHOP}:{keys}"), full, "s%3A1:K1", ""},
		{"only the separator that follows is escaped", parsed(t, "{property:SHOP}-{keys}"), full, "s:1-K1", ""},
		{"text around pieces", parsed(t, "<{tag}|{message_id}>"), full, "<paid|U1>", ""},
		{"text of letters before the only piece", parsed(t, "order{keys}s"), full, "orderK1s", ""},
		{"literal braces", parsed(t, "{{{keys}}}"), full, "{K1}", ""},
		{"a missing piece is no key", parsed(t, "{topic}:{tag}:{keys}"), bare, "", ""},
		{"a failing piece is an error", parsed(t, "{topic}:{json:order}"), full, "", "not a scalar"},
	})
	if got, err := parsed(t, "default")(full); !strings.HasPrefix(got, "U1:") || err != nil {
		t.Errorf("default: got %q, %v, want U1 and a fingerprint", got, err)
	}
}

func TestParseKeySaysWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"":                        "want keys, property:NAME, json:PATH, message_id, default, or a template",
		"KEYS":                    "want keys, property:NAME",
		"msgid":                   "want keys, property:NAME",
		"uuid:x":                  "want keys, property:NAME",
		"property:":               "must be followed by a name",
		"json:":                   "must be followed by a name",
		"json: order.no":          "without blanks around it",
		"json:order.{no,id}":      "no braces after json:",
		"property:{topic}":        "no braces after property:",
		"topic":                   "the same for many messages",
		"{topic}":                 "no piece that tells messages apart",
		"{topic}:{tag}":           "no piece that tells messages apart",
		"{{keys}}":                "no piece that tells messages apart",
		"{topic}:{nme}":           "{nme} is no piece: want {topic}, {tag}, {keys}",
		"{default}:{keys}":        "{default} is no piece",
		"{property:}:{keys}":      "must be followed by a name",
		"{topic}{keys}":           "need a separator",
		"{topic}and{keys}":        "need a separator",
		"{topic}%{keys}":          "need a separator",
		"{topic}、{keys}":          "need a separator",
		"{topic}:{keys":           "a { without its }",
		"{topic:{keys}}":          "a { without its }",
		"{keys}}":                 "a } without its {",
		"}{keys}":                 "a } without its {",
		"{json:a.{b,c}}":          "a { without its }",
		"prefix-{":                "a { without its }",
		"{topic}:{json: order.n}": "without blanks around it",
	} {
		if _, err := listener.ParseKey(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", expr, err, want)
		}
	}
}

func TestTemplateKeepsPairsApart(t *testing.T) {
	t.Parallel()
	values := []string{"a", "a:", ":a", ":", "::", "%", "%3A", "%3a", "%25", "a:b", "a%3Ab", "{", "}", "订单"}
	for _, template := range []string{
		"{property:A}:{property:B}", "{property:A}:x:{property:B}:", "{{{property:A}}}{{{property:B}}}",
	} {
		key, seen := parsed(t, template), map[string]string{}
		for _, a := range values {
			for _, b := range values {
				got, err := key(message("", "A", a, "B", b))
				if err != nil {
					t.Fatal(err)
				}
				pair := fmt.Sprintf("%q %q", a, b)
				if other, taken := seen[got]; taken {
					t.Errorf("%s: %s and %s both give %q", template, other, pair, got)
				}
				seen[got] = pair
			}
		}
	}
}

// FuzzTemplate shows that no template panics and that every accepted one keeps
// different values apart.
func FuzzTemplate(f *testing.F) {
	for _, template := range []string{
		"{property:A}:{property:B}", "{{{property:B}-{property:A}}}", "{topic}/{property:A}", "{", "}}{",
	} {
		f.Add(template, "a", "b", "a:b", "c")
	}
	f.Fuzz(func(t *testing.T, template, a1, b1, a2, b2 string) {
		key, err := listener.ParseKey(template)
		if err != nil {
			return
		}
		k1, err1 := key(message("{}", "A", a1, "B", b1))
		k2, err2 := key(message("{}", "A", a2, "B", b2))
		if err1 != nil || err2 != nil || k1 == "" || k2 == "" || strings.Contains(template, "{{") {
			return // no key, or {{property:A}}, which is text
		}
		differs := strings.Contains(template, "{property:A}") && a1 != a2 ||
			strings.Contains(template, "{property:B}") && b1 != b2
		if differs && k1 == k2 {
			t.Fatalf("%q: (%q, %q) and (%q, %q) both give %q", template, a1, b1, a2, b2, k1)
		}
	})
}

func ExampleTemplate() {
	key, err := listener.Template("{topic}:{json:order.no}")
	if err != nil {
		fmt.Println(err)
		return
	}
	m := &primitive.MessageExt{}
	m.Topic, m.Body = "orders", []byte(`{"order":{"no":"A:1"}}`)
	fmt.Println(key(m))
	// Output: orders:A:1 <nil>
}

func ExampleParseKey() {
	_, err := listener.ParseKey("{topic}{keys}")
	fmt.Println(err)
	_, err = listener.ParseKey("order.no")
	fmt.Println(strings.Replace(err.Error(), ": want ", ":\nwant ", 1))
	// Output:
	// listener: key "{topic}{keys}": two pieces need a separator before {keys}, such as a colon
	// listener: key "order.no":
	// want keys, property:NAME, json:PATH, message_id, default, or a template such as {topic}:{json:order.no}
}
