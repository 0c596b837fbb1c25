package listener

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// LevelFatal is the level of the client's fatal messages. They are logged and,
// unlike with the client's own logger, do not end the process.
const LevelFatal = slog.LevelError + 4

// LogTo sends everything that the RocketMQ client logs to l, slog.Default()
// for nil, through [ClientLogger], and panics inside the client's goroutines,
// which it otherwise swallows, unless primitive.DefaultPanicHandler is already
// set. Both are unguarded globals of the client: call LogTo once, before the
// first consumer, producer or admin is made.
func LogTo(l *slog.Logger) {
	logger := ClientLogger(l)
	rlog.SetLogger(logger)
	if primitive.DefaultPanicHandler == nil {
		primitive.DefaultPanicHandler = func(cause any) {
			logger.Error("panic inside the RocketMQ client", map[string]any{"panic": cause, "stack": string(debug.Stack())})
		}
	}
}

// ClientLogger makes l, slog.Default() for nil, a logger for the RocketMQ
// client: levels stay, but for what [Outgoing.Start] makes the client say, and
// fields become attributes. The client logs whole messages
// where a callback fails; of those only topic, ids and count pass, of values of
// unknown types only the type, so that bodies and properties stay out of logs.
// Level and OutputPath do nothing: both are the business of l's handler.
func ClientLogger(l *slog.Logger) rlog.Logger {
	if l == nil {
		l = slog.Default()
	}
	return bridge{l.Handler()}
}

type bridge struct{ handler slog.Handler }

var _ rlog.Logger = bridge{}

func (b bridge) Debug(msg string, fields map[string]any)   { b.log(slog.LevelDebug, msg, fields) }
func (b bridge) Info(msg string, fields map[string]any)    { b.log(slog.LevelInfo, msg, fields) }
func (b bridge) Warning(msg string, fields map[string]any) { b.log(slog.LevelWarn, msg, fields) }
func (b bridge) Fatal(msg string, fields map[string]any)   { b.log(LevelFatal, msg, fields) }
func (b bridge) Level(string)                              {}
func (b bridge) OutputPath(string) error                   { return nil }

func (b bridge) Error(msg string, fields map[string]any) {
	level := slog.LevelError
	if m, ok := fields["message"].(*primitive.Message); ok && m.GetProperty(markProperty) == greeting {
		level = slog.LevelDebug // it was sent to be taken back
	}
	b.log(level, msg, fields)
}

func (b bridge) log(level slog.Level, msg string, fields map[string]any) {
	ctx := context.Background()
	if !b.handler.Enabled(ctx, level) || msg == "" && len(fields) == 0 {
		return
	}
	var caller [1]uintptr
	runtime.Callers(4, caller[:]) // past Callers, log, the level's method and rlog's function
	r := slog.NewRecord(time.Now(), level, strings.TrimSpace(withhold(msg)), caller[0])
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		r.AddAttrs(slog.Attr{Key: name, Value: loggable(fields[name])})
	}
	_ = b.handler.Handle(ctx, r) // a log that cannot be written has nowhere to say so
}

// loggable lets pass what is known to carry no message.
func loggable(v any) slog.Value {
	if rv := reflect.ValueOf(v); !rv.IsValid() || rv.Kind() == reflect.Pointer && rv.IsNil() {
		return slog.StringValue("nil")
	}
	switch v := v.(type) {
	case *primitive.MessageExt:
		return messages(1, v)
	case []*primitive.MessageExt:
		return messages(len(v), v...)
	case *primitive.Message:
		return slog.GroupValue(slog.Int("count", 1), slog.String("topic", v.Topic))
	case []*primitive.Message:
		return slog.GroupValue(slog.Int("count", len(v)))
	case string:
		return slog.StringValue(withhold(v))
	case error:
		return slog.StringValue(withhold(v.Error()))
	case time.Time, time.Duration, []string:
		return slog.AnyValue(v)
	case *primitive.MessageQueue, []*primitive.MessageQueue, primitive.MessageQueue, net.Addr:
		return slog.StringValue(fmt.Sprint(v))
	case interface{ Load() int64 }: // the client's atomic counters
		return slog.Int64Value(v.Load())
	}
	return basic(v)
}

func basic(v any) slog.Value {
	switch kind := reflect.TypeOf(v).Kind(); {
	case kind == reflect.Bool || reflect.Int <= kind && kind <= reflect.Float64:
		if named, ok := v.(fmt.Stringer); ok {
			return slog.StringValue(named.String())
		}
		return slog.AnyValue(v)
	case kind == reflect.String:
		return slog.StringValue(withhold(reflect.ValueOf(v).String()))
	}
	return slog.StringValue(fmt.Sprintf("(%T)", v))
}

// messages names the first messages of a list, which may be a whole pull.
func messages(count int, list ...*primitive.MessageExt) slog.Value {
	const most = 8
	ids, topic := make([]string, 0, min(count, most)), ""
	for _, m := range list[:min(count, most)] {
		if m != nil {
			ids, topic = append(ids, m.MsgId), m.Topic
		}
	}
	return slog.GroupValue(slog.Int("count", count), slog.String(rlog.LogKeyTopic, topic),
		slog.Any(rlog.LogKeyMessageId, ids))
}

// withhold cuts what the client's String methods print of messages (body and
// properties) and of requests (properties and signature).
func withhold(text string) string {
	for _, mark := range []string{", body=", ", ExtFields: "} {
		if i := strings.Index(text, mark); i >= 0 {
			text = text[:i] + mark + "withheld"
		}
	}
	return text
}
