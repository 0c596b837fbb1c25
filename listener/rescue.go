package listener

import (
	"context"
	"errors"
	"maps"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// GivenUpTopic is where a broker puts a message about which it has asked in vain, as
// often as its transactionCheckMax says. No consumer of the message's own topic sees it.
const GivenUpTopic = "TRANS_CHECK_MAX_TIME_TOPIC"

// Rescue returns a callback for [GivenUpTopic] that publishes by p what the broker has
// given up asking about although its transaction is committed. Without it such a
// message is lost to the next step. Subscribe a consumer of its own, in a group of its
// own that begins with the first offset:
//
//	err = c.Subscribe(listener.GivenUpTopic, consumer.MessageSelector{}, out.Rescue(p))
//
// Messages that were rolled back, or belong to others, are acknowledged and nothing
// else. One about which the record tells nothing yet is sent back, and ends in the
// dead-letter queue of c's group if nobody ever completes its key. A broker has the
// topic from the first message on that it gives up.
//
// What is published has the topic, the body and the properties of the message that the
// step returned. It may be published twice, as by the broker.
func (o *Outgoing) Rescue(p Producer) Callback {
	if p == nil {
		return o.listener.refuse("Rescue was given a nil producer")
	}
	return func(ctx context.Context, msgs ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		result := consumer.ConsumeSuccess
		for _, m := range msgs {
			if err := o.rescue(ctx, p, m); err != nil {
				o.warn(m, "a message that a broker has given up waits to be rescued", err)
				result = consumer.ConsumeRetryLater
			}
		}
		return result, nil
	}
}

// errOpen is a transaction that nobody knows the end of yet.
var errOpen = errors.New("no record tells how its transaction ended")

// rescue fails if m must come again.
func (o *Outgoing) rescue(ctx context.Context, p Producer, m *primitive.MessageExt) (err error) {
	defer func() { // of the client
		if v := recover(); v != nil {
			err = &dedup.PanicError{Value: v}
		}
	}()
	if o.listener.topicOf(m) != GivenUpTopic { // the client mixes topics in a batch of retries
		return errors.New("its topic is another one: give Rescue a consumer of its own")
	}
	end, err := o.endOf(ctx, m)
	switch {
	case errors.As(err, new(foreign)) || end == dedup.TxRolledBack:
		return nil
	case err != nil:
		return err
	case end != dedup.TxCommitted:
		return errOpen
	}
	c := asReturned(m)
	if _, err = p.SendSync(ctx, c); err == nil {
		o.listener.log.WarnContext(ctx, "dedup: published a message that a broker had given up asking about",
			"msgId", m.MsgId, "topic", c.Topic, "consumerGroup", o.listener.group)
	}
	return err
}

// asReturned is the message that a step has returned, without what its producer, the
// brokers and a consumer have written into it since.
func asReturned(m *primitive.MessageExt) *primitive.Message {
	c := primitive.NewMessage(m.GetProperty(topicProperty), m.Body)
	c.Flag = m.Flag
	properties := maps.Clone(m.GetProperties())
	for _, later := range []string{
		markProperty, topicProperty, primitive.PropertyUniqueClientMessageIdKeyIndex,
		primitive.PropertyTransactionPrepared, primitive.PropertyProducerGroup, primitive.PropertyTransactionID,
		primitive.PropertyTranscationCheckTimes, primitive.PropertyTranscationPreparedQueueOffset,
		primitive.PropertyRealTopic, primitive.PropertyRealQueueId, primitive.PropertyMsgRegion,
		primitive.PropertyTraceSwitch, primitive.PropertyCluster, primitive.PropertyMinOffset,
		primitive.PropertyMaxOffset, primitive.PropertyConsumeStartTime, primitive.PropertyRetryTopic,
		primitive.PropertyOriginMessageId, primitive.PropertyReconsumeTime, primitive.PropertyMaxReconsumeTimes,
		primitive.PropertyDelayTimeLevel,
	} {
		delete(properties, later)
	}
	c.WithProperties(properties)
	return c
}
