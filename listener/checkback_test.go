package listener_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// oracle is a store that tells of one record.
type oracle struct {
	*memstore.Store
	token  store.Token // of the latest transaction
	commit error       // what becomes of it
	get    func(context.Context, store.Key) (store.Record, error)
	asked  []store.Key
}

func (o *oracle) Transact(ctx context.Context, r store.TxRequest,
	do func(context.Context, *sql.Tx, int) error) (store.Verdict, error) {
	o.token = r.Token
	return store.Verdict{State: store.Claimed, Attempt: 1}, errors.Join(do(ctx, nil, 1), o.commit)
}

func (o *oracle) Get(ctx context.Context, k store.Key) (store.Record, error) {
	o.asked = append(o.asked, k)
	return o.get(ctx, k)
}

// outgoingBench is an Outgoing without a broker.
type outgoingBench struct {
	*listener.Outgoing
	l       *listener.DedupConcurrentListener
	records *oracle
	log     bytes.Buffer
}

func newOutgoingBench(t *testing.T) *outgoingBench {
	t.Helper()
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &outgoingBench{records: &oracle{Store: mem}}
	b.l, err = listener.NewDedupConcurrentListener("shop", b.records, listener.Options{
		Key:   listener.KeyFromKeys(),
		Guard: dedup.Options{Logger: slog.New(slog.NewTextHandler(&b.log, nil))},
	})
	if err == nil {
		b.Outgoing, err = b.l.Outgoing()
	}
	if err == nil {
		err = b.Start(t.Context(), &local{listener: b}, "next")
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// local is a producer whose broker takes every half. Its end is what the listener
// has answered.
type local struct {
	listener primitive.TransactionListener
	startErr error
	sendErr  error
	started  bool

	mu     sync.Mutex // guards what follows while a step runs
	halves []*primitive.Message
	ends   []primitive.LocalTransactionState
}

func (p *local) Start() error {
	p.started = true
	return p.startErr
}

func (p *local) SendMessageInTransaction(
	_ context.Context, m *primitive.Message,
) (*primitive.TransactionSendResult, error) {
	if p.sendErr != nil {
		return nil, p.sendErr
	}
	p.mu.Lock()
	p.halves = append(p.halves, m)
	p.mu.Unlock()
	end := p.listener.ExecuteLocalTransaction(m)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, end)
	return &primitive.TransactionSendResult{}, nil
}

// half has a step send one message and returns what the broker would ask about.
func (b *outgoingBench) half(t *testing.T, key string) *primitive.MessageExt {
	t.Helper()
	p := &local{listener: b}
	cb := b.l.Tx(b.Step(p, func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
		return []*primitive.Message{primitive.NewMessage("next", []byte("body"))}, nil
	}))
	if result, _ := consume(t, cb, orderMessage(key)); result != success || len(p.halves) != 1 {
		t.Fatalf("got %v and %d halves, want success and one", result, len(p.halves))
	}
	m := &primitive.MessageExt{MsgId: "id-1"}
	m.Topic = "next"
	m.WithProperties(p.halves[0].GetProperties())
	return m
}

func TestTheRecordTellsHowATransactionEnded(t *testing.T) {
	t.Parallel()
	other := store.NewToken()
	for name, c := range map[string]struct {
		status store.Status
		token  *store.Token // nil: that of the transaction
		err    error
		want   primitive.LocalTransactionState
		warns  string
	}{
		"done by the transaction":       {status: store.StatusConsumed, want: primitive.CommitMessageState},
		"done by another":               {status: store.StatusConsumed, token: &other, want: primitive.RollbackMessageState},
		"done by one it does not know":  {status: store.StatusConsumed, token: &store.Token{}, want: primitive.CommitMessageState},
		"no record":                     {err: store.ErrNoRecord, want: primitive.UnkonwnState},
		"claimed":                       {status: store.StatusConsuming, token: &other, want: primitive.UnkonwnState},
		"claimed by the transaction":    {status: store.StatusConsuming, want: primitive.UnkonwnState},
		"given back":                    {status: store.StatusLapsed, token: &other, want: primitive.UnkonwnState},
		"parked":                        {status: store.StatusParked, token: &other, want: primitive.UnkonwnState},
		"not understood":                {status: store.StatusCorrupt, want: primitive.UnkonwnState},
		"nothing, with no error":        {want: primitive.UnkonwnState},
		"the store fails":               {err: errBoom, want: primitive.UnkonwnState, warns: errBoom.Error()},
		"an error beside a done record": {status: store.StatusConsumed, err: errBoom, want: primitive.UnkonwnState, warns: errBoom.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newOutgoingBench(t)
			half := b.half(t, "a.b\x00ü")
			b.records.get = func(context.Context, store.Key) (store.Record, error) {
				r := store.Record{Status: c.status, Token: b.records.token}
				if c.token != nil {
					r.Token = *c.token
				}
				return r, c.err
			}
			if got := b.CheckLocalTransaction(half); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			want := store.Key{Application: "shop", Topic: "orders", ID: "a.b\x00ü"}
			if len(b.records.asked) != 1 || b.records.asked[0] != want {
				t.Errorf("asked for %q, want %q", b.records.asked, want)
			}
			if warned := b.log.String(); (warned == "") != (c.warns == "") || !strings.Contains(warned, c.warns) {
				t.Errorf("got the log %q, want %q", warned, c.warns)
			}
		})
	}
}

func TestAStoreThatHangsOrPanicsLeavesATransactionUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOutgoingBench(t)
		half := b.half(t, "a")
		for name, get := range map[string]func(context.Context, store.Key) (store.Record, error){
			"hangs": func(ctx context.Context, _ store.Key) (store.Record, error) {
				<-ctx.Done()
				return store.Record{}, ctx.Err()
			},
			"panics": func(context.Context, store.Key) (store.Record, error) { panic("out") },
		} {
			b.records.get = get
			began := time.Now()
			if got := b.CheckLocalTransaction(half); got != primitive.UnkonwnState {
				t.Errorf("%s: got %v, want unknown", name, got)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("%s: answered after %v", name, took)
			}
		}
	})
}

func TestMessagesOfOthersAreLeftToThem(t *testing.T) {
	t.Parallel()
	const own = "c2hvcA.b3JkZXJz..YQ." // shop, orders, no tag, a
	const token = "000102030405060708090a0b0c0d0e0f"
	for name, c := range map[string]struct{ mark, warns string }{
		"no property":         {"", "was not sent by a Step"},
		"another application": {"b3RoZXI.b3JkZXJz..YQ." + token, `application \"other\", not \"shop\"`},
		"a word":              {"orders", "was not written by a Step"},
		"too few parts":       {"c2hvcA.b3JkZXJz.YQ." + token, "was not written by a Step"},
		"too many parts":      {own + token + ".", "was not written by a Step"},
		"no token":            {own, "token"},
		"a token of zeros":    {own + strings.Repeat("0", 32), "token"},
		"a token in capitals": {own + strings.ToUpper(token), "token"},
		"no key":              {"....", "token"},
		"no id":               {"c2hvcA.b3JkZXJz..." + token, "Key.ID is empty"},
		"no application":      {".b3JkZXJz..YQ." + token, "Key.Application is empty"},
		"not base64":          {"c2hvcA.b3JkZXJz..Y!." + token, "illegal base64"},
		"padded":              {"c2hvcA.b3JkZXJz..YQ==." + token, "illegal base64"},
		"loose bits":          {"c2hvcA.b3JkZXJz..YR." + token, "illegal base64"},
		"a megabyte":          {"c2hvcA.b3JkZXJz.." + strings.Repeat("A", 1<<20) + "." + token, "was not written by a Step"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newOutgoingBench(t)
			m := &primitive.MessageExt{MsgId: "id-1"}
			m.WithProperty("DEDUP_TX", c.mark)
			if got := b.CheckLocalTransaction(m); got != primitive.UnkonwnState || len(b.records.asked) > 0 {
				t.Errorf("got %v and %d questions to the store, want unknown and none", got, len(b.records.asked))
			}
			if !strings.Contains(b.log.String(), c.warns) {
				t.Errorf("got the log %q, want %q", b.log.String(), c.warns)
			}
		})
	}
}

func TestAProducerIsMadeKnownToTheBrokersOfItsTopics(t *testing.T) {
	t.Parallel()
	b := newOutgoingBench(t)
	p := &local{listener: b}
	if err := b.Start(t.Context(), p, "next", "other"); err != nil || !p.started {
		t.Fatalf("got %v, started %v", err, p.started)
	}
	if len(p.halves) != 2 || p.halves[0].Topic != "next" || p.halves[1].Topic != "other" {
		t.Fatalf("got %v, want a half for each topic", p.halves)
	}
	for i, half := range p.halves {
		m := &primitive.MessageExt{}
		m.WithProperties(half.GetProperties())
		if got := b.CheckLocalTransaction(m); p.ends[i] != primitive.RollbackMessageState || got != p.ends[i] {
			t.Errorf("got %v, and %v when asked, want it taken back", p.ends[i], got)
		}
		line, _ := logged(t, func(l rlog.Logger) { l.Error("state unexpected", map[string]any{"message": half}) })
		if line["level"] != "DEBUG" {
			t.Errorf("the client's error is logged as %v, want DEBUG", line)
		}
	}
	if b.log.Len() > 0 || len(b.records.asked) > 0 {
		t.Errorf("got the log %s and questions about %v, want neither", b.log.String(), b.records.asked)
	}
	for name, broken := range map[string]*local{
		"does not start": {listener: b, startErr: errBoom}, "does not send": {listener: b, sendErr: errBoom},
	} {
		if err := b.Start(t.Context(), broken, "next"); !errors.Is(err, errBoom) {
			t.Errorf("a producer that %s: got %v, want %v", name, err, errBoom)
		}
	}
}

func TestAStartThatCannotBeRightIsRefused(t *testing.T) {
	t.Parallel()
	b, other := newOutgoingBench(t), newOutgoingBench(t)
	for want, err := range map[string]error{
		"the producer is nil": b.Start(t.Context(), nil, "next"),
		"no topics":           b.Start(t.Context(), &local{listener: b}),
		"this is not the listener of the producer": b.Start(t.Context(), &local{listener: other}, "next"),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestATopicThatStartWasNotGivenIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	b := newOutgoingBench(t)
	p := sender(func(m *primitive.Message) (*primitive.TransactionSendResult, error) {
		b.ExecuteLocalTransaction(m)
		return &primitive.TransactionSendResult{}, nil
	})
	cb := b.l.Tx(b.Step(p, func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
		return []*primitive.Message{order("next", "a"), order("elsewhere", "a")}, nil
	}))
	for _, key := range []string{"a", "b"} {
		consume(t, cb, orderMessage(key))
	}
	log := b.log.String()
	if strings.Count(log, "Outgoing.Start was not given") != 1 || !strings.Contains(log, "topic=elsewhere") {
		t.Errorf("got the log %q, want one warning about elsewhere", log)
	}
}

// Whatever is read as a mark is what a step would have written.
func FuzzMark(f *testing.F) {
	f.Add("shop", "orders", "paid", "A-1", "c2hvcA.b3JkZXJz..YQ.000102030405060708090a0b0c0d0e0f")
	f.Add("a.b", "\x00\x01\x02", "", "ü=", "....")
	f.Fuzz(func(t *testing.T, application, topic, tag, id, text string) {
		k := store.Key{Application: application, Topic: topic, Tag: tag, ID: id}
		token := store.NewToken()
		written := listener.WriteMark(k, token)
		if strings.ContainsAny(written, "\x01\x02") {
			t.Errorf("%q cannot be a property", written)
		}
		got, gotToken, err := listener.ParseMark(written)
		if valid := k.Validate() == nil && len(written) <= 24<<10; valid != (err == nil) {
			t.Errorf("%q: got %v", k, err)
		}
		if err == nil && (got != k || gotToken != token) {
			t.Errorf("got %q and %v back, want %q and %v", got, gotToken, k, token)
		}
		if k, token, err := listener.ParseMark(text); err == nil && listener.WriteMark(k, token) != text {
			t.Errorf("%q is read, but written as %q", text, listener.WriteMark(k, token))
		}
	})
}

func TestAKeyThatFitsIntoNoPropertySendsNothing(t *testing.T) {
	t.Parallel()
	b := newOutgoingBench(t)
	p := &local{listener: b}
	cb := b.l.Tx(b.Step(p, func(context.Context, *sql.Tx, *primitive.MessageExt) ([]*primitive.Message, error) {
		return []*primitive.Message{primitive.NewMessage("next", nil)}, nil
	}))
	if result, _ := consume(t, cb, orderMessage(strings.Repeat("a", 20_000))); result != retry || len(p.halves) > 0 {
		t.Errorf("got %v and %d halves, want the message back and none", result, len(p.halves))
	}
	if !strings.Contains(b.log.String(), "must fit into a property") {
		t.Errorf("got the log %s", b.log.String())
	}
}

func TestOnlyAStoreThatTransactsAndReadsHandsOver(t *testing.T) {
	t.Parallel()
	mem, err := memstore.New(memstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		records store.Store
		want    error
	}{
		"no transactions": {mem, dedup.ErrNoTransactions},
		"no records to read": {struct {
			store.Store
			store.Transactor
		}{mem, &oracle{}}, nil},
	} {
		l, err := listener.NewDedupConcurrentListener("shop", c.records, listener.Options{Guard: noLog})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := l.Outgoing(); out != nil || err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, %v, want an error", name, out, err)
		}
	}
}
