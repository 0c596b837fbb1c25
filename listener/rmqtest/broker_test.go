package rmqtest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// Not parallel: it looks at all goroutines there are.
func TestHundredStartsAndStopsLeaveNothingBehind(t *testing.T) {
	for range 100 {
		b, err := rmqtest.New(rmqtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b.DelayReplies(rmqtest.MaxOffset, 1, time.Hour)
		delayed := message("orders", "A-1", "").WithDelayTimeLevel(18)
		if err := b.Produce("orders", delayed); err != nil {
			t.Fatal(err)
		}
		c := dial(t, b)
		c.tell(rmqtest.PullMessage, pulling(0, time.Hour), nil, 0)
		c.tell(rmqtest.MaxOffset, about(), nil, 0)
		c.ask(rmqtest.MinOffset, about(), nil) // both have been read
		b.Close()
		if ours := goroutinesOfBrokers(); ours != "" {
			t.Fatalf("after Close there still is\n%s", ours)
		}
	}
}

func goroutinesOfBrokers() string {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		if strings.Contains(stack, "rmqtest.(*Broker)") || strings.Contains(stack, "rmqtest.(*agenda)") {
			return stack
		}
	}
	return ""
}

func TestClosedBrokerIsGoneForItsClients(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	c := dial(t, b)
	c.ask(rmqtest.MaxOffset, about(), nil)
	b.Close()
	b.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
}

func TestBadOptionsAreRefusedTogether(t *testing.T) {
	t.Parallel()
	_, err := rmqtest.New(rmqtest.Options{
		DelayLevels: []time.Duration{1, 0}, Queues: 1025, CheckAfter: -1, LockExpiry: -1, MaxBytes: -1,
	})
	for _, field := range []string{"DelayLevels[1]", "Queues", "CheckAfter", "LockExpiry", "MaxBytes"} {
		if err == nil || !strings.Contains(err.Error(), field+" is ") {
			t.Errorf("got %v, want it to name %s", err, field)
		}
	}
}

func TestDefaultDelaysAreAThousandthOfRocketMQs(t *testing.T) {
	t.Parallel()
	levels := rmqtest.Start(t).DelayLevels()
	if len(levels) != 18 || levels[0] != time.Millisecond || levels[17] != 7200*time.Millisecond {
		t.Errorf("got %v", levels)
	}
}

// failing is a test that notes its failure.
type failing struct {
	rmqtest.TB
	failure string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestStartFailsTheTestThatGivesBadOptions(t *testing.T) {
	t.Parallel()
	for want, options := range map[string][]rmqtest.Options{
		"Queues is -1": {{Queues: -1}}, "2 Options": {{}, {}},
	} {
		f, done := &failing{TB: t}, make(chan struct{})
		go func() {
			defer close(done)
			rmqtest.Start(f, options...)
		}()
		if <-done; !strings.Contains(f.failure, want) {
			t.Errorf("got the failure %q, want %q", f.failure, want)
		}
	}
}

func TestProduceRefusesWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	away := message("orders", "A-1", "")
	away.Queue = &primitive.MessageQueue{QueueId: 1}
	for want, err := range map[string]error{
		"topic":     b.Produce("a b"),
		"a body":    b.Produce("orders", primitive.NewMessage("orders", nil)),
		"queue 1":   b.Produce("orders", away),
		"message 1": b.Produce("orders", message("", "A-1", ""), primitive.NewMessage("", make([]byte, 5<<20))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if err := b.CreateTopic("orders", 0); err == nil {
		t.Error("created a topic without queues")
	}
}
