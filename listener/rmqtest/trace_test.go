package rmqtest_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// say adds a line to the trace. The names of the scenario's topic and group, which
// are new each time, are replaced.
func (s *stage) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	s.lines = append(s.lines, strings.NewReplacer(s.topic, "TOPIC", s.group, "GROUP").Replace(line))
}

// id replaces an id by its number, in the order in which ids are met: equal ids
// stay equal and different ones different.
func (s *stage) id(v string) string {
	if v == "" {
		return "none"
	}
	if s.ids[v] == "" {
		s.ids[v] = fmt.Sprint("id-", len(s.ids)+1)
	}
	return s.ids[v]
}

// show tells what messages the client was given, in the order of their keys and
// deliveries.
func (s *stage) show(msgs ...*primitive.MessageExt) {
	for _, m := range inOrder(msgs) {
		s.showMessage(m)
	}
}

// inOrder sorts messages by key and delivery, and those of one key as they were
// stored: callbacks run at the same time.
func inOrder(msgs []*primitive.MessageExt) []*primitive.MessageExt {
	return slices.SortedFunc(slices.Values(msgs), func(a, b *primitive.MessageExt) int {
		return cmp.Or(cmp.Compare(a.GetKeys(), b.GetKeys()), cmp.Compare(a.ReconsumeTimes, b.ReconsumeTimes),
			cmp.Compare(a.QueueOffset, b.QueueOffset))
	})
}

func (s *stage) showMessage(m *primitive.MessageExt) {
	s.say("message %s, delivery %d", m.GetKeys(), m.ReconsumeTimes)
	s.say("  topic %s, in queue %d of %s at %s", m.Topic, m.Queue.QueueId, m.Queue.Topic, s.place(m))
	s.say("  id %s, offset id %s, transaction %s", s.id(m.MsgId), s.id(m.OffsetMsgId), s.id(m.TransactionId))
	s.say("  flag %d, system flag %d, body %s", m.Flag, m.SysFlag, short(m.Body))
	s.say("  offset id is its place: %t, half elsewhere: %t, born before stored: %t", s.isPlaceOf(m),
		m.PreparedTransactionOffset != 0 && m.PreparedTransactionOffset != m.CommitLogOffset,
		m.BornTimestamp <= m.StoreTimestamp)
	properties := m.GetProperties()
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		s.say("  %s=%s", name, s.property(name, properties[name]))
	}
}

// place is where in its queue a message is, unless that is left to chance.
func (s *stage) place(m *primitive.MessageExt) string {
	if m.Queue.Topic != s.topic || m.GetProperty(primitive.PropertyTransactionPrepared) != "" {
		return "some place"
	}
	return fmt.Sprint(m.QueueOffset)
}

// property masks what differs from broker to broker and from time to time.
func (s *stage) property(name, value string) string {
	switch name {
	case primitive.PropertyUniqueClientMessageIdKeyIndex, primitive.PropertyOriginMessageId, "__transactionId__":
		return s.id(value)
	case "CLUSTER":
		return "the broker's"
	case primitive.PropertyMaxOffset, primitive.PropertyTranscationCheckTimes, "CONSUME_START_TIME":
		return "some"
	}
	return value
}

func (s *stage) isPlaceOf(m *primitive.MessageExt) bool {
	place, err := primitive.UnmarshalMsgID([]byte(m.OffsetMsgId))
	return err == nil && fmt.Sprintf("%s:%d", place.Addr, place.Port) == s.broker &&
		place.Offset == m.CommitLogOffset && m.StoreHost == s.broker
}

func short(body []byte) string {
	if len(body) > 40 {
		return fmt.Sprintf("of %d bytes", len(body))
	}
	return fmt.Sprintf("%q", body)
}

// showSent tells what a producer was told.
func (s *stage) showSent(what string, r *primitive.SendResult) {
	var offsetIDs []string
	for id := range strings.SplitSeq(r.OffsetMsgID, ",") {
		offsetIDs = append(offsetIDs, s.id(id))
	}
	s.say("sent %s: status %d, id %s, offset ids %s, transaction %s", what, r.Status, s.id(r.MsgID),
		strings.Join(offsetIDs, " "), s.id(r.TransactionID))
	s.say("  queue %d of %s, region %s, trace %t", r.MessageQueue.QueueId, r.MessageQueue.Topic, r.RegionID, r.TraceOn)
}

// diff returns the lines of both: what only a has after "-", what only b has
// after "+", the rest after a space.
func diff(a, b []string) []string {
	switch {
	case len(a) == 0 && len(b) == 0:
		return nil
	case len(a) > 0 && len(b) > 0 && a[0] == b[0]:
		return append([]string{" " + a[0]}, diff(a[1:], b[1:])...)
	}
	// The nearest line that both have; up to it they differ.
	for sum := 1; sum <= len(a)+len(b); sum++ {
		for i := max(0, sum-len(b)); i <= min(sum, len(a)); i++ {
			j := sum - i
			if i == len(a) && j == len(b) || i < len(a) && j < len(b) && a[i] == b[j] {
				return slices.Concat(marked("-", a[:i]), marked("+", b[:j]), diff(a[i:], b[j:]))
			}
		}
	}
	return nil // not reached: the ends of both are a match
}

func marked(mark string, lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, mark+line)
	}
	return out
}

func TestDiffShowsWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"a b c", "a b c", " a| b| c"},
		{"a b c", "a c", " a|-b| c"},
		{"a c", "a b c d", " a|+b| c|+d"},
		{"a x c", "a y c", " a|-x|+y| c"},
		{"a", "", "-a"},
	} {
		if got := strings.Join(diff(strings.Fields(c.a), strings.Fields(c.b)), "|"); got != c.want {
			t.Errorf("%s and %s: got %s, want %s", c.a, c.b, got, c.want)
		}
	}
}
