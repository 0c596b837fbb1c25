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
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	defer func() { // a panic would end all check-backs of the client
		if v := recover(); v != nil {
			state = o.unknown(m, &dedup.PanicError{Value: v})
		}
	}()
	text := m.GetProperty(markProperty)
	if text == greeting {
		return primitive.RollbackMessageState
	}
	mark, err := parseMark(text)
	switch own := o.listener.options.Application; {
	case err != nil:
		return o.unknown(m, err)
	case mark.key.Application != own:
		return o.unknown(m, fmt.Errorf("it is of application %q, not %q: give its producer a group of its own",
			mark.key.Application, own))
	}
	record, err := o.records.Get(ctx, mark.key)
	switch {
	case errors.Is(err, store.ErrNoRecord):
		return primitive.UnkonwnState
	case err != nil:
		return o.unknown(m, err)
	case record.Status != store.StatusConsumed:
		return primitive.UnkonwnState
	case record.Token != mark.token && !record.Token.IsZero():
		return primitive.RollbackMessageState
	}
	return primitive.CommitMessageState // at worst a copy: a store may not know the token
}

func (o *Outgoing) unknown(m *primitive.MessageExt, err error) primitive.LocalTransactionState {
	o.listener.log.Warn("dedup: cannot tell how the transaction of a message ended", slog.String("msgId", m.MsgId),
		slog.String("topic", m.Topic), slog.String("consumerGroup", o.listener.group), slog.Any("error", err))
	return primitive.UnkonwnState
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
	return c
}

func parseMark(s string) (k mark, err error) {
	if s == "" {
		return mark{}, errors.New("it has no property " + markProperty + ": it was not sent by a Step")
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
