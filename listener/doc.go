// Package listener makes the callbacks of a RocketMQ push consumer run once per
// business key. Use this when you consume with rocketmq-client-go/v2; for other
// consumers package listener/dedup has the engine alone.
//
// Start with [NewDedupConcurrentListener], then wrap an existing callback with
// [DedupConcurrentListener.Wrap] or write a [Handler] per message and use
// [DedupConcurrentListener.Each]:
//
//	l, err := listener.NewDedupConcurrentListener("billing", records, listener.Options{
//		Topics: []listener.Topic{{Name: "orders", Key: listener.KeyFromJSON("order.no")}},
//	})
//	…
//	err = l.Subscribe(pushConsumer, "orders", consumer.MessageSelector{}, l.Each(charge))
//
// A copy of a finished message is acknowledged without a call. A copy of a
// running one goes to the retry topic with a delay that covers the other's
// lease. A failed, panicking or crashed callback runs again.
//
// While the store does not answer, messages wait in their callbacks, up to 100 s
// or as long as the consumer's timeout allows, and cost no retry. A success that
// it does not take is acknowledged in time and recorded later.
//
// With a store in the database of the business data, [DedupConcurrentListener.Tx]
// commits effect and record together, and [Outgoing] publishes messages exactly if
// they are committed.
//
// Package listener/listenertest shows what your handler does with copies, and
// after a crash at any point.
//
// What it does not promise: that a callback which failed half way is not
// repeated, or anything for orderly and broadcasting consumers.
package listener
