package listener_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

const secret = "s3cr3t"

func secretMessage(id string) *primitive.MessageExt {
	m := message("body "+secret, "KEYS", secret, "TOKEN", secret)
	m.MsgId, m.TransactionId, m.Queue = id, secret, &primitive.MessageQueue{Topic: "orders"}
	return m
}

// logged returns the one line that log makes, decoded and raw.
func logged(t *testing.T, log func(rlog.Logger)) (map[string]any, string) {
	t.Helper()
	var out bytes.Buffer
	log(listener.ClientLogger(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	line := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	return line, out.String()
}

func TestClientLoggerNeverShowsMessages(t *testing.T) {
	t.Parallel()
	m := secretMessage("U1")
	for name, value := range map[string]any{
		"message":                  m,
		"messages":                 []*primitive.MessageExt{m, secretMessage("U2"), nil},
		"nothing":                  []*primitive.MessageExt{},
		"half message":             &m.Message,
		"batch":                    []*primitive.Message{&m.Message},
		"text of a message":        m.String(),
		"text within text":         "sent " + m.Message.String() + " twice",
		"named text":               named(m.String()),
		"error with a message":     fmt.Errorf("cannot send %v", m),
		"text of a request":        "Code: 10, opaque: 1, Remark: , ExtFields: map[properties:" + secret + "]",
		"bytes":                    []byte(secret),
		"map":                      map[string]string{"TOKEN": secret},
		"unknown struct":           struct{ Body string }{secret},
		"pointer to unknown":       &struct{ Msg *primitive.MessageExt }{m},
		"list of anything":         []any{m, secret},
		"unknown type with String": stringer{secret},
		"credentials":              primitive.Credentials{AccessKey: secret, SecretKey: secret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, raw := logged(t, func(l rlog.Logger) { l.Warning("consume error", map[string]any{"field": value}) })
			if strings.Contains(raw, secret) {
				t.Errorf("got the secret in %s", raw)
			}
		})
	}
	_, raw := logged(t, func(l rlog.Logger) { l.Error("cannot send "+m.String(), nil) })
	if strings.Contains(raw, secret) || !strings.Contains(raw, "cannot send") {
		t.Errorf("got %s, want the text without the message", raw)
	}
}

type named string

type stringer struct{ text string }

func (s stringer) String() string { return s.text }

func TestClientLoggerNamesMessages(t *testing.T) {
	t.Parallel()
	pull := make([]*primitive.MessageExt, 32)
	for i := range pull {
		pull[i] = secretMessage(fmt.Sprintf("U%d", i))
	}
	line, _ := logged(t, func(l rlog.Logger) { l.Warning("consume error", map[string]any{rlog.LogKeyMessages: pull}) })
	got := fmt.Sprint(line["messages"])
	if want := "map[count:32 msgId:[U0 U1 U2 U3 U4 U5 U6 U7] topic:orders]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestClientLoggerKeepsHarmlessFields(t *testing.T) {
	t.Parallel()
	var counter atomic.Int64
	counter.Store(5)
	queue := &primitive.MessageQueue{Topic: "orders", BrokerName: "b", QueueId: 1}
	var none *primitive.MessageExt
	var noError *primitive.MQClientErr
	for _, c := range []struct {
		value any
		want  string
	}{
		{"text", "text"}, {7, "7"}, {int64(8), "8"}, {true, "true"}, {nil, "nil"}, {none, "nil"}, {noError, "nil"},
		{errors.New("broken"), "broken"}, {time.Second, "1e+09"}, {[]string{"a", "b"}, "[a b]"},
		{consumer.Clustering, "Clustering"}, {&counter, "5"},
		{queue, "MessageQueue [topic=orders, brokerName=b, queueId=1]"},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}, "127.0.0.1:9"},
		{[]byte("x"), "([]uint8)"},
	} {
		line, _ := logged(t, func(l rlog.Logger) { l.Info("x", map[string]any{"field": c.value}) })
		if got := fmt.Sprint(line["field"]); got != c.want {
			t.Errorf("%T: got %s, want %s", c.value, got, c.want)
		}
	}
}

func TestClientLoggerKeepsLevelsAndNeverExits(t *testing.T) {
	t.Parallel()
	for want, log := range map[string]func(rlog.Logger){
		"DEBUG":   func(l rlog.Logger) { l.Debug("x", nil) },
		"INFO":    func(l rlog.Logger) { l.Info("x", nil) },
		"WARN":    func(l rlog.Logger) { l.Warning("x", nil) },
		"ERROR":   func(l rlog.Logger) { l.Error("x", nil) },
		"ERROR+4": func(l rlog.Logger) { l.Fatal("x", nil) },
	} {
		if line, _ := logged(t, log); line["level"] != want || line["msg"] != "x" {
			t.Errorf("got %v, want level %s and message x", line, want)
		}
	}
}

func TestClientLoggerLeavesLevelAndOutputToTheHandler(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := listener.ClientLogger(slog.New(slog.NewTextHandler(&out, nil)))
	l.Level("debug")
	l.Debug("quiet", map[string]any{"field": 1})
	l.Info("", nil)
	if err := l.OutputPath(t.TempDir() + "/x.log"); err != nil || out.Len() != 0 {
		t.Errorf("got %v and output %q, want neither", err, out.String())
	}
}

// viaRlog stands for the client's own logging function, one frame deep.
//
//go:noinline
func viaRlog(l rlog.Logger) { l.Info("x", nil) }

func TestClientLoggerReportsTheCallersLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := listener.ClientLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{AddSource: true})))
	_, _, line, _ := runtime.Caller(0)
	viaRlog(l)
	if want := fmt.Sprintf("rlog_test.go:%d ", line+1); !strings.Contains(out.String(), want) {
		t.Errorf("got %s, want source %s", out.String(), want)
	}
}

// TestLogTo runs in a process of its own, because the client's logger is global.
func TestLogTo(t *testing.T) {
	t.Parallel()
	if os.Getenv("LISTENER_TEST_LOG_TO") == "1" {
		listener.LogTo(slog.New(slog.NewTextHandler(os.Stdout, nil)))
		rlog.Fatal("still alive", nil)
		primitive.WithRecover(func() { panic(secretMessage("U1")) })
		return
	}
	self := exec.Command(os.Args[0], "-test.run=^TestLogTo$")
	self.Env = append(os.Environ(), "LISTENER_TEST_LOG_TO=1")
	out, err := self.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`level=ERROR+4 msg="still alive"`, "panic inside the RocketMQ client", "panic.msgId=[U1]", "TestLogTo.func1",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got %s, want %q in it", out, want)
		}
	}
	if strings.Contains(string(out), secret) {
		t.Errorf("got the secret in %s", out)
	}
}

func ExampleClientLogger() {
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	l := listener.ClientLogger(slog.New(handler))
	m := &primitive.MessageExt{MsgId: "7F01"}
	m.Topic, m.Body = "orders", []byte("card 4711")
	l.Warning("consume failed", map[string]any{"message": m, rlog.LogKeyConsumerGroup: "g"})
	// Output: level=WARN msg="consume failed" consumerGroup=g message.count=1 message.topic=orders message.msgId=[7F01]
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
