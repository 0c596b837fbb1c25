package listener_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// chainsPerSecond is less than elsewhere: each is two transactions and a message
// between them.
const chainsPerSecond = 60

// The same chaos befalls a chain: consumers book orders in transactions, hand them
// over to a second step by transactional messages, and ship them there. Every
// process does both, and answers a broker that asks what became of a message whose
// sender has died. What it gives up asking about is rescued, by this process. No table
// has an index that would keep a second row out.
func TestAChainUnderChaosBooksAndShipsEachOrderOnce(t *testing.T) {
	d := soakTime(t, "DEDUP_TEST_CHAOS_CHAIN")
	s := newScene(t, realBroker, chaosQueues)
	c := newChaos(s, "MySQL")
	s.Transact, s.Next = true, s.Topic+"-next"
	s.createTopic(s.Next, chaosQueues)
	s.createGroup(s.Group + "-next")
	first, second := openChaosShop(t, c.server.Addr(), bookShop()), openChaosShop(t, c.server.Addr(), shipShop())
	rescued := rescueChain(t, s)
	seed := c.befall(s, d, chainsPerSecond)
	j := newChainJudge()
	c.finish(j.read, func() bool {
		return first.booked() >= j.known && second.booked() >= j.known && j.settled()
	})

	booked, wrongBooked := first.audit(j.judge, s.Group)
	shipped, wrongShipped := second.audit(j.judge, s.Group+"-next")
	j.compare(first.bookings(), second.bookings())
	t.Logf("figure: chain store=MariaDB seconds=%.0f seed=%d messages=%d keys=%d kills=%d pauses=%d restarts=%d hangs=%d "+
		"cuts=%d joins=%d leaves=%d runs=%d runs_failed=%d runs_killed=%d skipped=%d deferred=%d dead=%d %v given_up=%d",
		d.Seconds(), seed, j.messages, j.known, j.kills, j.pauses, j.restarts, j.hangs, j.cuts, j.joins, j.leaves,
		j.runs, j.failed, j.cutShort, j.skipped, j.deferred, s.dead(), j.chainFigures, rescued.sent.Load())
	t.Logf("figure: chain step=book %v", booked)
	t.Logf("figure: chain step=ship %v", shipped)
	for _, floor := range append(j.figures.missing(d, chainsPerSecond), j.chainFigures.missing()...) {
		t.Error(floor)
	}
	if want := (books{orders: j.known, sold: j.known, done: j.known}); booked != want || shipped != want {
		t.Errorf("got  %v when booked\nand  %v when shipped\nwant %v", booked, shipped, want)
	}
	if j.strays+j.unbooked > 0 {
		t.Errorf("got %d messages and %d shipments without their bookings, want none", j.strays, j.unbooked)
	}
	for _, n := range slices.Concat(wrongBooked, wrongShipped, j.wrong) {
		t.Errorf("%s\n%s", n.key, c.story(n))
	}
}

// rescueChain publishes what the broker gives up asking about, until the test ends.
func rescueChain(t *testing.T, s *scene) *countingProducer {
	t.Helper()
	records, _, err := s.place.openMySQL()
	if err != nil {
		t.Fatal(err)
	}
	p := &countingProducer{Producer: s.producer}
	leave, err := s.place.joinRescue(records, p, "rescue")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := leave(ctx); err != nil {
			t.Error(err)
		}
	})
	return p
}

// countingProducer counts what it has sent.
type countingProducer struct {
	listener.Producer
	sent atomic.Int64
}

func (p *countingProducer) SendSync(ctx context.Context, msgs ...*primitive.Message) (*primitive.SendResult, error) {
	result, err := p.Producer.SendSync(ctx, msgs...)
	if err == nil {
		p.sent.Add(int64(len(msgs)))
	}
	return result, err
}
