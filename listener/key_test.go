package listener_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// message builds a message as it arrives: pairs are property names and values.
func message(body string, pairs ...string) *primitive.MessageExt {
	m := &primitive.MessageExt{Message: primitive.Message{Topic: "orders", Body: []byte(body)}}
	for i := 0; i < len(pairs); i += 2 {
		m.WithProperty(pairs[i], pairs[i+1])
	}
	return m
}

type keyCase struct {
	name string
	key  listener.KeyFunc
	msg  *primitive.MessageExt
	want string
	fail string // part of the expected error
}

func runKeyCases(t *testing.T, cases []keyCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.key(c.msg)
			if got != c.want {
				t.Errorf("key: got %q, want %q", got, c.want)
			}
			if (err != nil) != (c.fail != "") || err != nil && !strings.Contains(err.Error(), c.fail) {
				t.Errorf("error: got %v, want one with %q", err, c.fail)
			}
		})
	}
}

func TestKeyFromPropertiesOfTheMessage(t *testing.T) {
	t.Parallel()
	keys, property := listener.KeyFromKeys(), listener.KeyFromProperty
	runKeyCases(t, []keyCase{
		{"KEYS is the key", keys, message("", "KEYS", "A1"), "A1", ""},
		{"separators and braces in KEYS stay", keys, message("", "KEYS", "a:b%{c}"), "a:b%{c}", ""},
		{"no KEYS is no key", keys, message(""), "", ""},
		{"two keys are refused", keys, message("", "KEYS", "A1 A2"), "", "KEYS holds a blank"},
		{"a blank at the end is refused", keys, message("", "KEYS", "A1 "), "", "KEYS holds a blank"},
		{"the KEYS property as it is", property("KEYS"), message("", "KEYS", "A1 A2"), "A1 A2", ""},
		{"a user's property", property("ORDER_ID"), message("", "ORDER_ID", "7"), "7", ""},
		{"a property that is missing", property("ORDER_ID"), message("", "order_id", "7"), "", ""},
		{"a property without a name", property(""), message(""), "", "name is empty"},
	})
}

func TestKeyFromJSON(t *testing.T) {
	t.Parallel()
	path := listener.KeyFromJSON
	runKeyCases(t, []keyCase{
		{"a string", path("order.no"), message(`{"order":{"no":"A1"}}`), "A1", ""},
		{"an escaped string", path("no"), message(`{"no":"订\u5355\n\"1\""}`), "订单\n\"1\"", ""},
		{"an element of an array", path("items.1.id"), message(`{"items":[{"id":1},{"id":2}]}`), "2", ""},
		{"a long integer keeps its digits", path("id"), message(`{"id":9223372036854775807}`), "9223372036854775807", ""},
		{"a number stays as it is written", path("id"), message(`{"id":1.50e3}`), "1.50e3", ""},
		{"a truth value", path("ok"), message(`{"ok":false}`), "false", ""},
		{"a count", path("items.#"), message(`{"items":[1,2,3]}`), "3", ""},
		{"the first of two members counts", path("id"), message(`{"id":"1","id":"2"}`), "1", ""},
		{"null is no key", path("id"), message(`{"id":null}`), "", ""},
		{"an empty string is no key", path("id"), message(`{"id":""}`), "", ""},
		{"a missing path is no key", path("order.no"), message(`{"order":7}`), "", ""},
		{"an object is refused", path("order"), message(`{"order":{}}`), "", "not a scalar"},
		{"an array is refused", path("items"), message(`{"items":[]}`), "", "not a scalar"},
		{"an empty body is refused", path("id"), message(""), "", "not JSON"},
		{"a cut body is refused", path("id"), message(`{"id":"A1","x":`), "", "not JSON"},
		{"rubbish behind the value is refused", path("id"), message(`{"id":"A1"} x`), "", "not JSON"},
		{"no path", path(""), message(`{}`), "", "path is empty"},
	})
}

func TestDeeplyNestedBodyIsRefusedAndNotFatal(t *testing.T) {
	t.Parallel()
	const depth = 8 << 20
	for _, body := range [][]byte{
		bytes.Repeat([]byte("["), depth),
		append(bytes.Repeat([]byte("["), depth), bytes.Repeat([]byte("]"), depth)...),
		bytes.Repeat([]byte(`{"a":`), depth/5),
	} {
		m := &primitive.MessageExt{Message: primitive.Message{Body: body}}
		if got, err := listener.KeyFromJSON("a.b")(m); got != "" || err == nil {
			t.Errorf("got %q, %v, want an error", got, err)
		}
	}
	wide := `{"id":"A1","list":[` + strings.Repeat(`[],`, 20_000) + `[]]}`
	if got, err := listener.KeyFromJSON("id")(message(wide)); got != "A1" || err != nil {
		t.Errorf("a wide body: got %q, %v, want A1", got, err)
	}
}

func TestKeysDoNotAliasTheBody(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{"json:no", "json:id", "{json:no}:{json:id}", "default"} {
		key, err := listener.ParseKey(expr)
		if err != nil {
			t.Fatal(err)
		}
		m := message(`{"no":"A1","id":17}`, "UNIQ_KEY", "U1")
		spare := append(m.Body, "next message"...)
		m.Body = spare[:len(m.Body):len(spare)]
		got, err := key(m)
		if err != nil {
			t.Fatal(err)
		}
		if string(spare[len(m.Body):]) != "next message" {
			t.Errorf("%s: wrote behind the body", expr)
		}
		before := strings.Clone(got)
		for i := range m.Body {
			m.Body[i] = 'x'
		}
		if got != before {
			t.Errorf("%s: the key changed with the body: got %q, want %q", expr, got, before)
		}
	}
}

func TestDefaultKeyTellsDeliveriesApart(t *testing.T) {
	t.Parallel()
	key := func(m *primitive.MessageExt) string {
		t.Helper()
		k, err := listener.DefaultKey()(m)
		if err != nil || k == "" {
			t.Fatalf("got %q, %v, want a key", k, err)
		}
		return k
	}
	first := message("pay 10", "UNIQ_KEY", "U1", "KEYS", "A1")
	retry := message("pay 10", "UNIQ_KEY", "U1", "KEYS", "A1", "ORIGIN_MESSAGE_ID", "O1", "DELAY", "3")
	first.OffsetMsgId, retry.OffsetMsgId, retry.ReconsumeTimes = "O1", "O2", 1
	if key(first) != key(retry) {
		t.Errorf("a redelivery: got %q, want %q", key(retry), key(first))
	}
	for name, sibling := range map[string]*primitive.MessageExt{
		"other body":           message("pay 20", "UNIQ_KEY", "U1", "KEYS", "A1"),
		"other KEYS":           message("pay 10", "UNIQ_KEY", "U1", "KEYS", "A2"),
		"bytes moved to KEYS":  message("ay 10", "UNIQ_KEY", "U1", "KEYS", "A1p"),
		"bytes moved to body":  message("1pay 10", "UNIQ_KEY", "U1", "KEYS", "A"),
		"message sent anew":    message("pay 10", "UNIQ_KEY", "U2", "KEYS", "A1"),
		"KEYS gone":            message("pay 10", "UNIQ_KEY", "U1"),
		"nothing but UNIQ_KEY": message("", "UNIQ_KEY", "U1"),
	} {
		if key(sibling) == key(first) {
			t.Errorf("%s: got the key of another message", name)
		}
	}
}

func TestDefaultKeyWithoutUniqKeyIsTheFirstOffset(t *testing.T) {
	t.Parallel()
	first, retry := message("x"), message("x", "ORIGIN_MESSAGE_ID", "O1")
	first.OffsetMsgId, retry.OffsetMsgId = "O1", "O2"
	runKeyCases(t, []keyCase{
		{"first delivery", listener.DefaultKey(), first, "O1", ""},
		{"redelivery", listener.DefaultKey(), retry, "O1", ""},
		{"nothing to go by", listener.DefaultKey(), message("x"), "", "neither UNIQ_KEY"},
	})
}

func TestMessageIDIsTheClients(t *testing.T) {
	t.Parallel()
	const id = "FD0000000000000000000000000000027A4A30946E0997966B320000" // of a Java producer
	m := message("x", "UNIQ_KEY", id)
	m.MsgId = id
	runKeyCases(t, []keyCase{{"MsgId", listener.MessageID(), m, id, ""}})
}

// FuzzKeyFromJSON compares with encoding/json, and shows that no path and no
// body panics.
func FuzzKeyFromJSON(f *testing.F) {
	for _, seed := range []struct{ body, path string }{
		{`{"no":"A1"}`, "no"}, {`{"no":1}`, "no"}, {`{"no":null}`, "no"}, {`[1,"x"]`, "1"}, {`{`, "no"},
		{`{"a":{"b":[1]}}`, "a.b.0"}, {`{"a":"\ud800"}`, "a"}, {`{"a":1}`, "@pretty"}, {`{"a":[{"b":1}]}`, "a.#(b==1).b"},
		{`{"a":1}`, "{a,a}"}, {`{"a":1}`, "@this|@join:{"}, {`"A"`, "@fromstr"}, {`{"no":{}}`, "no"},
	} {
		f.Add(seed.body, seed.path)
	}
	f.Fuzz(func(t *testing.T, body, path string) {
		_, err := listener.KeyFromJSON(path)(message(body))
		if err == nil && !json.Valid([]byte(body)) {
			t.Fatalf("accepted a body that is not JSON")
		}
		checkMember(t, body)
	})
}

func checkMember(t *testing.T, body string) {
	var record map[string]any
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	if !json.Valid([]byte(body)) || decoder.Decode(&record) != nil || strings.Count(body, `"no"`) != 1 ||
		strings.Contains(body, `\`) || !utf8.ValidString(body) {
		return // only bodies in which both readers must see the same member
	}
	got, err := listener.KeyFromJSON("no")(message(body))
	switch want := record["no"].(type) {
	case nil:
		if got != "" || err != nil {
			t.Fatalf("got %q, %v, want no key", got, err)
		}
	case map[string]any, []any:
		if err == nil {
			t.Fatalf("got %q, want an error", got)
		}
	default:
		if got != fmt.Sprint(want) || err != nil {
			t.Fatalf("got %q, %v, want %v", got, err, want)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	body := `{"event":"paid","order":{"no":"A20240001","lines":[` + strings.Repeat(`{"sku":"x-1","n":2},`, 40) +
		`{"sku":"y","n":1}]},"at":"2024-05-01T10:00:00Z"}`
	m := message(body, "KEYS", "A20240001", "UNIQ_KEY", "FD0000000000000000000000000000027A4A30946E0997966B320000")
	for _, expr := range []string{"keys", "json:order.no", "default", "{topic}:{json:order.no}"} {
		key, err := listener.ParseKey(expr)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(expr, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if k, err := key(m); k == "" || err != nil {
					b.Fatal(k, err)
				}
			}
		})
	}
}

func ExampleKeyFromJSON() {
	key := listener.KeyFromJSON("order.no")
	m := &primitive.MessageExt{}
	m.Body = []byte(`{"order": {"no": 9007199254740993, "total": "12.50"}}`)
	fmt.Println(key(m))
	// Output: 9007199254740993 <nil>
}
