package open_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// The consumer of the RocketMQ client leaves 12 goroutines behind each time. It
// is left out here, so that ours are seen.
func TestNothingIsLeftOfTwoHundredStartsAndStops(t *testing.T) {
	nothingIsLeft(t, at(storetest.Server(t, "DEDUP_TEST_REDIS")), 200)
}

func TestNothingIsLeftOfStartsAndStopsWithADatabase(t *testing.T) {
	t.Run("MariaDB", func(t *testing.T) {
		c := atMySQL(t, storetest.Server(t, "DEDUP_TEST_MARIADB"))
		tables(t, c)
		nothingIsLeft(t, c, 50)
	})
	t.Run("SQLite", func(t *testing.T) { nothingIsLeft(t, atFile(t), 50) })
}

func nothingIsLeft(t *testing.T, c config.Config, cycles int) {
	t.Helper()
	const warmUp = 40
	liveAll(t, c, warmUp)
	goroutines, heap := atRest(t, 0)
	liveAll(t, c, cycles)
	after, grown := atRest(t, goroutines)
	t.Logf("%d goroutines before and %d after %d cycles; %d bytes before, %d after", goroutines, after, cycles, heap, grown)
	if after > goroutines {
		t.Errorf("got %d goroutines after %d cycles, %d before", after, cycles, goroutines)
	}
	if most := int(heap) + cycles<<10; int(grown) > most {
		t.Errorf("got %d bytes after %d cycles, %d before: want less than 1 KB more for each", grown, cycles, heap)
	}
}

// liveAll goes through lives, a few at a time because each has to wait.
func liveAll(t *testing.T, c config.Config, lives int) {
	t.Helper()
	var all sync.WaitGroup
	slots := make(chan struct{}, 10)
	for range lives {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := live(c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// live is a start, some deliveries and a stop of everything but the client's own
// consumer.
func live(c config.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), ample)
	defer cancel()
	records, closeRecords, err := open.Store(ctx, c)
	if err != nil {
		return err
	}
	quiet := dedup.Options{Logger: slog.New(slog.DiscardHandler)}
	l, err := open.Listener(c, records, open.Options{Guard: quiet})
	if err != nil {
		return errors.Join(err, closeRecords())
	}
	watching, unwatch := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() { watched <- open.Watch(watching, c, l) }()
	callbacks := subscriptions{}
	err = open.Subscribe(c, l, callbacks, func(_ context.Context, m *primitive.MessageExt) error {
		if m.GetKeys() == "fails" {
			return errors.New("as it should")
		}
		return nil
	})
	for range 2 { // the second time as copies
		callbacks["orders"](ctx, someOrders()...)
	}
	err = errors.Join(err, l.Shutdown(ctx, stopper{}))
	unwatch()
	return errors.Join(err, <-watched, l.Healthy(), closeRecords())
}

// someOrders are a batch of which one fails.
func someOrders() (msgs []*primitive.MessageExt) {
	own := store.NewToken().String()
	for i, id := range []string{own, "", "fails", own} {
		m := &primitive.MessageExt{OffsetMsgId: own + strconv.Itoa(i)}
		m.Topic, m.Body = "orders", []byte(own)
		m.WithKeys([]string{id})
		msgs = append(msgs, m)
	}
	return msgs
}

// atRest waits until there are no more goroutines than most, or for a while, and
// returns how many there are and the bytes in use.
func atRest(t *testing.T, most int) (goroutines int, heap uint64) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		goroutines = runtime.NumGoroutine()
		if passed := time.Since(began); goroutines <= most || passed > 3*time.Second {
			break
		}
	}
	var m runtime.MemStats
	for range 3 { // what is finalized or pooled goes with a later collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return goroutines, m.HeapAlloc
}

type subscriptions map[string]func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)

func (s subscriptions) Subscribe(topic string, _ consumer.MessageSelector,
	f func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)) error {
	s[topic] = f
	return nil
}

type stopper struct{}

func (stopper) Shutdown() error { return nil }
