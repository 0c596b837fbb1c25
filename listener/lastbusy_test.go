package listener_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

func TestABusyMessageOnItsLastDeliveryIsPublishedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producer{}
		r := newRig(t, listener.Options{MaxReconsumeTimes: 3, Producer: p})
		var cb listener.Callback
		cb = r.Each(func(context.Context, *primitive.MessageExt) error {
			m := delivered("orders", "1", 2)
			m.WithProperty(primitive.PropertyReconsumeTime, "2")
			want(t, cb, success, 0, m)
			return nil
		})
		want(t, cb, success, 0, orders("1")...)
		if len(p.sent) != 1 {
			t.Fatalf("sent: got %v", p.sent)
		}
		m := p.sent[0]
		for name, want := range map[string]string{
			"KEYS": "1", "UNIQ_KEY": "uniq-1", "RETRY_TOPIC": "orders", "DELAY": "5", "RECONSUME_TIME": "",
			"ORIGIN_MESSAGE_ID": "offset-1",
		} {
			if got := m.GetProperty(name); got != want {
				t.Errorf("property %s: got %q, want %q", name, got, want)
			}
		}
		if m.Topic != "%RETRY%billing" {
			t.Errorf("topic: got %s", m.Topic)
		}
	})
}

func TestABusyMessageOnItsLastDeliveryWaitsForItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{MaxReconsumeTimes: 3})
		var cb listener.Callback
		last := make(chan consumer.ConsumeResult, 1)
		cb = r.Each(func(context.Context, *primitive.MessageExt) error {
			go func() {
				result, _ := consume(t, cb, delivered("orders", "1", 2))
				last <- result
			}()
			time.Sleep(40 * time.Second)
			return nil
		})
		want(t, cb, success, 0, orders("1")...)
		if got := <-last; got != success {
			t.Errorf("got %v, want success", got)
		}
	})
}

func TestAKeyThatStaysBusyIsReportedBeforeItsMessageIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, listener.Options{MaxReconsumeTimes: 3, LastWait: 20 * time.Second, BatchSize: 8})
		var cb listener.Callback
		cb = r.Each(func(context.Context, *primitive.MessageExt) error {
			began := time.Now()
			want(t, cb, retry, 6, delivered("orders", "1", 2), delivered("orders", "2", 2))
			if took := time.Since(began); took != 20*time.Second {
				t.Errorf("waited %v, want 20s for both together", took)
			}
			return nil
		})
		claim(t, r.store, "2")
		want(t, cb, success, 0, orders("1")...)
		exhausted := 0
		for _, e := range r.events {
			if errors.Is(e.Err, dedup.ErrExhausted) {
				exhausted++
			}
		}
		if exhausted != 2 {
			t.Errorf("exhausted: got %d, want 2", exhausted)
		}
	})
}
