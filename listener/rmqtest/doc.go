// Package rmqtest is a RocketMQ name server and broker inside a Go program. Use
// this when consumers or producers that are built on rocketmq-client-go/v2 shall
// run, in a test or a demonstration, without a JVM, a container or a network.
//
//	b := rmqtest.Start(t, rmqtest.Options{})
//	err := b.Produce("orders", primitive.NewMessage("orders", body).WithKeys([]string{"A-1"}))
//	c, err := consumer.NewPushConsumer(
//		consumer.WithNameServer(primitive.NamesrvAddr{b.NameServer()}), …)
//	…
//	err = c.Start()
//
// As with any broker, the topic must exist before a consumer starts: [Broker.Produce]
// or [Broker.CreateTopic] make it.
//
// Start with [Start] in tests and [New] in programs; both give a [Broker]. It
// listens on the loopback interface, on a port that the kernel chose, and speaks
// the remoting protocol to the client as it is. Give every consumer and producer
// its own instance name, as with any broker.
//
// It does what broker 5.3.3 does: topics with several queues, created by the
// admin API or by the first message; single, batch, one-way and version 2 sends;
// long polls with a tag filter; offsets; groups that rebalance when members come
// and go; locked queues for orderly consumers; messages sent back with delay
// levels, retry topics and dead letter queues; delayed messages; transactions
// with check-back. Message ids and properties are those of the real broker. A
// contract suite, in which the Java client takes part, compares all that clients
// see of the two.
//
// # Differences that are meant
//
//   - Delays are a thousandth of RocketMQ's unless [Options] says otherwise.
//   - A retry topic comes into being when somebody asks for its route, so that the
//     first retry of a new group is not 40 s late.
//   - An automatically created topic has [Options.Queues] queues, whatever the
//     producer wishes.
//   - Messages whose due times are reached are delivered at once; the real broker
//     looks every 100 ms.
//   - Questions about a transaction count only if a producer of the group is there
//     to be asked.
//   - Offsets can be committed for a group that no consumer has joined yet.
//   - Nothing can be sent to TBW102, whose route new topics inherit.
//   - A waiting pull is answered by any new message of its queue, also by one that
//     its tag filter drops; the real broker lets it wait.
//   - A half message is committed once, however many answers come. The real broker
//     notes ends late and may ask again meanwhile: the message then comes twice.
//   - Nothing is written to disk, no credentials are checked, and frames with
//     binary headers are not understood; clients write them only when told to.
//
// SQL filters are refused as by a broker that is not told to allow them. Unknown
// requests are answered with code 3, as by the real broker: pop consumption,
// message queries, offset resets and request-reply are not there.
//
// # Memory
//
// The broker keeps what is stored up to [Options.MaxBytes]; then the oldest
// messages go, consumed or not, and the smallest offsets of their queues rise.
// Messages that wait for a delay or for the end of their transaction are kept
// beyond that. Of the deliveries it remembers the last 65,536.
package rmqtest
