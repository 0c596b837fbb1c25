// Package listenertest is for tests of your own handlers, without a broker. Use
// this when you want to know what a handler does with copies of its messages,
// and what is left of its effects when it dies half way.
//
// A [Consumer] takes the place of the push consumer. It is a
// [listener.Subscriber] and a [listener.Stopper], makes messages with every field
// that the broker and the client set, and calls the callback as the client does:
//
//	var c listenertest.Consumer
//	err := l.Subscribe(&c, "orders", consumer.MessageSelector{}, charge)
//	m := c.Message(primitive.NewMessage("orders", body))
//	first := c.Deliver(m)                 // Acknowledged, SentBack, Dead or Unanswered
//	again := c.Deliver(m)                 // as a rebalance does
//	later := c.Deliver(c.Retry(m, 0))     // as the retry topic does
//	batch := c.Deliver(m2, m1)            // in one batch, in this order
//	race := c.DeliverAtOnce(m, m, m)      // each in a goroutine of its own
//
// [TestCrashes] runs a handler through every crash point: the process dies,
// panics, loses its lease or a reply before or after each effect that the test
// has marked with [Run.Effect], and around them. After each [Fault] the message is
// delivered until it is finished; then your own check looks at the effects. Mark
// effects in the test's doubles of what the handler calls, so that the handler
// itself stays as it is; of a transaction mark the commit. Give the listener a
// logger that discards: a run with a fault is rightly loud.
//
// A handler need not be perfect to be right: which faults it must survive is for
// its test to say. What fails half way runs again, so a handler without a
// transaction needs effects that can be repeated, such as a payment with an
// idempotency key.
//
// # With testing/synctest
//
// All of it works inside a bubble, with memstore or any store that needs no
// network. There the client's delays cost nothing: sleep for what
// [listener.DefaultDelayLevels] says of the level of an [Answer], and the lease
// of another owner is over. The fault [Cancelled] waits for a third of the lease
// and belongs into a bubble. Make the store, the listener and the Consumer inside,
// since a bubble may not touch channels and timers from outside.
//
// # What it does not do
//
// There is no queue, no rebalance and no retry topic that delivers by itself: the
// test says what comes when, and selectors are ignored. A crash ends the
// goroutine of the handler with [runtime.Goexit], so deferred functions run, as
// they do not when a process is killed; effects marked in them do not happen. It
// ends no other goroutine. One fault happens in each run.
package listenertest
