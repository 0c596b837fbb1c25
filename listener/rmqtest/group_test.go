package rmqtest_test

import (
	"fmt"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

func TestMembersShareTheQueuesAndTakeThemOver(t *testing.T) {
	t.Parallel()
	skipRacyClient(t, "Shutdown")
	b := rmqtest.Start(t)
	if err := b.CreateTopic("orders", 4); err != nil {
		t.Fatal(err)
	}
	in := newInbox()
	_, first := consume(t, b, "billing", "orders", in.accept)
	second, other := consume(t, b, "billing", "orders", in.accept)
	eventually(t, "both members consume", func() bool {
		produce(t, b, 8)
		shares := clientsOf(b.DeliveriesTo("billing"))
		return shares[first] > 0 && shares[other] > 0
	})
	if err := second.Shutdown(); err != nil {
		t.Fatal(err)
	}
	var last []rmqtest.Delivery
	eventually(t, "the first consumes all queues", func() bool {
		seen := len(b.DeliveriesTo("billing"))
		produce(t, b, 8)
		eventually(t, "8 deliveries", func() bool { return len(b.DeliveriesTo("billing")) >= seen+8 })
		last = b.DeliveriesTo("billing")[seen:]
		queues := map[int]bool{}
		for _, d := range last {
			queues[d.Queue] = true
		}
		return len(queues) == 4 && clientsOf(last)[first] == len(last)
	})
}

func TestRunningConsumerCommitsWithItsPulls(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	in := newInbox()
	if err := b.CreateTopic("orders", 1); err != nil {
		t.Fatal(err)
	}
	consume(t, b, "billing", "orders", in.accept)
	sent := int64(0)
	eventually(t, "a lag below what was sent", func() bool {
		sent++
		produce(t, b, 1)
		in.take(t, 1)
		return b.Lag("billing") < sent
	})
}

func TestTagsAreFiltered(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	in := newInbox()
	for i, tag := range []string{"paid", "", "shipped", "returned", "paid"} {
		if err := b.Produce("orders", message("orders", fmt.Sprint("A-", i), "").WithTag(tag)); err != nil {
			t.Fatal(err)
		}
	}
	consumeTags(t, b, "billing", "orders", "paid || shipped", in.accept)
	got := keysOf(in.take(t, 3))
	if len(got) != 3 || got["A-0"]+got["A-2"]+got["A-4"] != 3 {
		t.Errorf("got %v, want A-0, A-2 and A-4", got)
	}
	for _, key := range []string{"A-1", "A-3"} {
		if d := b.Deliveries(key); len(d) > 0 {
			t.Errorf("%s was sent to a consumer that does not want it: %v", key, d)
		}
	}
}

// produce stores n messages round the queues of the topic orders.
func produce(t *testing.T, b *rmqtest.Broker, n int) {
	t.Helper()
	for i := range n {
		if err := b.Produce("orders", message("orders", fmt.Sprint("A-", i), fmt.Sprint("body ", i))); err != nil {
			t.Fatal(err)
		}
	}
}

// clientsOf counts deliveries by instance name.
func clientsOf(deliveries []rmqtest.Delivery) map[string]int {
	counts := map[string]int{}
	for _, d := range deliveries {
		counts[d.Instance()]++
	}
	return counts
}
