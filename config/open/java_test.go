package open_test

import (
	"context"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// The record of the Java original is MSGDEDUP:application:topic:tag:id, where id
// is UNIQ_KEY unless somebody chose a key.
func TestRecordsOfAJavaCompatibleConfigurationAreTheOriginals(t *testing.T) {
	t.Parallel()
	addr := storetest.Server(t, "DEDUP_TEST_REDIS")
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	c := at(addr)
	c.Application = "open-java-" + store.NewToken().String()
	c.RocketMQ.Namespace = "shop"
	c.Store.Redis.Prefix, c.Store.Redis.JavaCompatible = "", true
	c.Topics = []config.Topic{{Name: "orders"}, {Name: "refunds", Key: "keys"}}

	records, closeStore, err := open.Store(t.Context(), c)
	must(t, err)
	l, err := open.Listener(c, records, open.Options{})
	must(t, err)
	var running string // what the original finds meanwhile
	for _, row := range []struct{ topic, name string }{
		{"orders", "MSGDEDUP:" + c.Application + ":orders:paid:U1"},
		{"refunds", "MSGDEDUP:" + c.Application + ":refunds:paid:A1"},
	} {
		defer client.Del(context.Background(), row.name, "{"+row.name+"}:o")
		callback := l.Each(func(ctx context.Context, _ *primitive.MessageExt) (err error) {
			running, err = client.Get(ctx, row.name).Result()
			return err
		})
		result, _ := callback(t.Context(), javaMessage("shop%"+row.topic))
		done, err := client.Get(t.Context(), row.name).Result()
		if result != consumer.ConsumeSuccess || running != "CONSUMING" || done != "CONSUMED" || err != nil {
			t.Errorf("%s: got result %v, record %q and then %q, %v; want CONSUMING and CONSUMED",
				row.topic, result, running, done, err)
		}
	}
	must(t, closeStore())
}

// javaMessage is what a Java producer has sent.
func javaMessage(topic string) *primitive.MessageExt {
	m := &primitive.MessageExt{MsgId: "U1", OffsetMsgId: "O1"}
	m.Topic = topic
	m.WithTag("paid")
	m.WithKeys([]string{"A1"})
	m.WithProperty(primitive.PropertyUniqueClientMessageIdKeyIndex, "U1")
	return m
}
