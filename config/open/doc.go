// Package open turns a configuration into the store, the listener and the
// RocketMQ clients that it describes. Use this when your program is configured
// by a file or by its environment; it is the only library package that links
// every driver.
//
// A whole consumer, with errors left out:
//
//	c, err := config.Load("consumer.yaml")
//	records, closeRecords, err := open.Store(ctx, c)
//	l, err := open.Listener(c, records, open.Options{})
//	err = open.NameServers(ctx, c)
//	p, err := open.PushConsumer(c)
//	err = open.Subscribe(c, l, p, handle)
//	err = open.RetryTopic(ctx, c)
//	err = p.Start()
//	<-ctx.Done()
//	err = l.Shutdown(drain, p)
//	err = closeRecords()
//
// What the listener must know of the consumer and what the consumer is given
// come from the same configuration, so that they cannot differ.
//
// Every function validates its configuration and then returns
// [config.Problems]. An error of a server, or on the way to one, begins with
// the key of the setting to look at, such as store.redis.password, and never
// holds a secret.
package open
