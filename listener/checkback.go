package listener

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// checkTimeout bounds the answer to one question of the broker. The client asks
// one after the other.
const checkTimeout = 3 * time.Second

// CheckLocalTransaction is for the producer to call: the broker asks what became
// of the transaction of a message, because it was not told. The record knows:
//
//   - done by the token of the message: committed;
//   - done by another: rolled back. The key was locked when the message left, so
//     the other came after its transaction had ended;
//   - anything else, no record included: unknown. The transaction may be running,
//     and nobody sees what it has written. If it was rolled back the next attempt
//     will leave one of the records above, or the broker gives up in time; no clock
//     is asked.
//
// When the store does not answer, and about messages of others, the answer is
// unknown, too.
func (o *Outgoing) CheckLocalTransaction(m *primitive.MessageExt) (state primitive.LocalTransactionState) {
	switch end, err := o.endOf(context.Background(), m); {
	case err != nil:
		o.warn(m, "cannot tell how the transaction of a message ended", err)
		return primitive.UnkonwnState
	case end == dedup.TxCommitted:
		return primitive.CommitMessageState
	case end == dedup.TxRolledBack:
		return primitive.RollbackMessageState
	}
	return primitive.UnkonwnState
}

// foreign is why a message belongs to another Outgoing, or to none.
type foreign string

func (f foreign) Error() string { return string(f) }

// endOf is how the transaction of m ended, as far as the record tells. An error
// comes with TxUnknown. A panic would end all check-backs of the client.
func (o *Outgoing) endOf(ctx context.Context, m *primitive.MessageExt) (end dedup.TxEnd, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			end, err = dedup.TxUnknown, &dedup.PanicError{Value: v}
		}
	}()
	text := m.GetProperty(markProperty)
	if text == greeting {
		return dedup.TxRolledBack, nil
	}
	mark, err := parseMark(text)
	switch own := o.listener.options.Application; {
	case err != nil:
		return dedup.TxUnknown, err
	case mark.key.Application != own:
		return dedup.TxUnknown, foreign(fmt.Sprintf("it is of application %q, not %q: give its producer a group of its own",
			mark.key.Application, own))
	}
	record, err := o.records.Get(ctx, mark.key)
	switch {
	case errors.Is(err, store.ErrNoRecord):
		return dedup.TxUnknown, nil
	case err != nil:
		return dedup.TxUnknown, err
	case record.Status != store.StatusConsumed:
		return dedup.TxUnknown, nil
	case record.Token != mark.token && !record.Token.IsZero():
		return dedup.TxRolledBack, nil
	}
	return dedup.TxCommitted, nil // at worst a copy: a store may not know the token
}

func (o *Outgoing) warn(m *primitive.MessageExt, what string, err error) {
	o.listener.log.Warn("dedup: "+what, slog.String("msgId", m.MsgId), slog.String("topic", m.Topic),
		slog.String("consumerGroup", o.listener.group), slog.Any("error", err))
}

// mark tells which transaction a message belongs to: that which completes key
// with token.
type mark struct {
	key   store.Key
	token store.Token
}

const (
	// markProperty is the property with the mark.
	markProperty = "DEDUP_TX"
	// topicProperty is the property with the topic, which a broker overwrites.
	topicProperty = "DEDUP_TOPIC"
	// greeting is the mark of a message without a transaction, sent to be known.
	greeting = "greeting"
	// maxMark bounds it: all properties together must fit into 32 KB.
	maxMark = 24 << 10
)

// encoding writes no character that separates properties or parts.
var encoding = base64.RawURLEncoding.Strict()

func (k mark) String() string {
	var b strings.Builder
	for _, part := range [...]string{k.key.Application, k.key.Topic, k.key.Tag, k.key.ID} {
		b.WriteString(encoding.EncodeToString([]byte(part)))
		b.WriteByte('.')
	}
	b.WriteString(k.token.String())
	return b.String()
}

// on returns a copy of m with the mark. A message of the caller's that is sent
// twice would keep its id, and what the client has written into it.
func (k mark) on(m *primitive.Message) *primitive.Message {
	c := primitive.NewMessage(m.Topic, m.Body)
	c.Flag, c.Queue = m.Flag, m.Queue
	c.WithProperties(m.GetProperties())
	c.WithProperty(markProperty, k.String())
	c.WithProperty(topicProperty, m.Topic)
	return c
}

func parseMark(s string) (k mark, err error) {
	if s == "" {
		return mark{}, foreign("it has no property " + markProperty + ": it was not sent by a Step")
	}
	parts := strings.Split(s, ".")
	if len(s) > maxMark || len(parts) != 5 {
		return mark{}, errors.New("its property " + markProperty + " was not written by a Step")
	}
	for i, to := range []*string{&k.key.Application, &k.key.Topic, &k.key.Tag, &k.key.ID} {
		part, err := encoding.DecodeString(parts[i])
		if err != nil {
			return mark{}, fmt.Errorf("its property %s: %w", markProperty, err)
		}
		*to = string(part)
	}
	if k.token, err = store.ParseToken(parts[4]); err == nil {
		err = k.key.Validate()
	}
	if err != nil {
		return mark{}, fmt.Errorf("its property %s: %w", markProperty, err)
	}
	return k, nil
}
