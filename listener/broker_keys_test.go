package listener_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestBrokerOddIDsAreKeptApart(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 4)
		s.join(listener.Options{Key: listener.KeyFromJSON("order.no")}, succeed)
		long := strings.Repeat("7", 1<<20)
		var bodies []string
		for _, id := range []string{
			long, long + "8", long[:255], long[:256], "a:b", "a|b", "a", "b", "a b", "a ", " a", "A", "à", "a\u0300",
			"{a}", "}{", "{{a}}", "%3A", ":", "*", "\x00", "\x00a", "a\x00", "\x01\x02", "\n", "~", "~a", "\U0001f4a9", "\ufffd",
		} {
			body, err := json.Marshal(map[string]any{"order": map[string]string{"no": id}})
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, string(body))
		}
		for range 2 {
			for _, body := range bodies {
				s.deliver(primitive.NewMessage(s.Topic, []byte(body)))
			}
		}
		eventually(t, "every copy is acknowledged", func() bool { return s.count(acknowledged) >= 2*len(bodies) })
		s.wantRuns(t, 1, bodies...)
		if fallback := s.count(func(e dedup.Event) bool { return e.Fallback }); fallback > 0 {
			t.Errorf("%d messages took the default key", fallback)
		}
	})
}

func TestBrokerKeyFunctionsThatFailLoseNothing(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		key := func(m *primitive.MessageExt) (string, error) {
			switch first := m.ReconsumeTimes == 0; {
			case string(m.Body) == "no key":
				return "", nil
			case string(m.Body) == "never", string(m.Body) == "error" && first:
				return "", errBoom
			case string(m.Body) == "panic" && first:
				panic("boom")
			}
			return m.GetKeys(), nil
		}
		s.join(listener.Options{Key: key, MaxReconsumeTimes: 1}, succeed)
		s.send("error", "panic", "no key", "never")
		eventually(t, "three are done", func() bool { return s.count(acknowledged) >= 3 })
		eventually(t, "the fourth is buried", func() bool { return s.dead() > 0 })
		s.wantRuns(t, 1, "error", "panic", "no key")
		if runs := s.runs("never"); runs > 0 {
			t.Errorf("a message without a usable key ran %d times", runs)
		}
		if failed := s.count(because(listener.ErrKey)); failed < 4 {
			t.Errorf("got %d reports of the key function, want 4", failed)
		}
		if fallback := s.count(func(e dedup.Event) bool { return e.Fallback }); fallback != 1 {
			t.Errorf("got %d default keys, want 1", fallback)
		}
	})
}

func TestBrokerADamagedRecordDefersItsKeyOnly(t *testing.T) {
	onBrokers(t, func(t *testing.T, on stage) {
		s := newScene(t, on, 1)
		client := s.keepRecordsIn(s.needRedis())
		name := func(id string) string {
			return fmt.Sprintf("%s{%v}", s.Prefix, store.Key{Application: s.Group, Topic: s.Topic, ID: id})
		}
		damage := [][]any{
			{"RPUSH", name("foreign"), "x"},
			{"SET", name("corrupt"), "P|half of a record"},
		}
		for _, command := range damage {
			if err := client.Do(t.Context(), command...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		s.join(listener.Options{}, succeed)
		s.send("foreign", "corrupt", "sound")
		eventually(t, "the damage is met twice", func() bool { return s.count(because(dedup.ErrCorrupt)) >= 4 })
		s.wantRuns(t, 1, "sound")
		if ran := s.count(outcome(dedup.Ran)); ran != 1 {
			t.Errorf("got %d messages that ran, want the sound one alone", ran)
		}
		for _, command := range damage {
			if deleted := client.Del(t.Context(), command[1].(string)).Val(); deleted != 1 {
				t.Errorf("%s was not there any more", command[1])
			}
		}
		eventually(t, "the mended ones run", func() bool { return s.count(outcome(dedup.Ran)) == 3 })
		s.wantRuns(t, 1, "foreign", "corrupt", "sound")
	})
}
