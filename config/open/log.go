package open

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// LogTo sends what the RocketMQ, Redis and MySQL clients log to l,
// slog.Default() for nil. All three are globals of the clients: call it once,
// before anything else of this package. A failure that the Redis or the MySQL
// client repeats is logged once in ten seconds, with the number of lines
// suppressed since.
func LogTo(l *slog.Logger) {
	if l == nil {
		l = slog.Default()
	}
	listener.LogTo(l)
	redis.SetLogger(&redisLog{clientLog{log: l}})
	_ = mysql.SetLogger(&mysqlLog{clientLog{log: l}}) // which refuses nil only
}

// repeatEvery is how often the log tells of one kind of failure: while a server
// cannot be reached go-redis says so several times a second.
const repeatEvery = 10 * time.Second

// clientLog is what clients log to that log about failures only.
type clientLog struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[string]*failure // guarded by mu
}

type failure struct {
	shown      time.Time
	suppressed int // since then
}

type redisLog struct{ clientLog }

// Printf is what go-redis calls.
func (l *redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.tell(ctx, format, "redis client: "+fmt.Sprintf(format, v...))
}

type mysqlLog struct{ clientLog }

// Print is what the driver calls, with a place in its source at the beginning.
func (l *mysqlLog) Print(v ...any) {
	l.tell(context.Background(), fmt.Sprint(v[:min(1, len(v))]...), "mysql client: "+fmt.Sprint(v...))
}

// tell logs text, unless one of its kind was logged a moment ago.
func (l *clientLog) tell(ctx context.Context, kind, text string) {
	suppressed, ok := l.show(kind)
	if !ok {
		return
	}
	var attrs []any
	if suppressed > 0 {
		attrs = append(attrs, "suppressed", suppressed)
	}
	l.log.WarnContext(ctx, text, attrs...)
}

// show reports whether a line is to be logged now, and how many of its kind were
// not since the last one.
func (l *clientLog) show(kind string) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.kinds[kind]
	if f != nil && time.Since(f.shown) < repeatEvery {
		f.suppressed++
		return 0, false
	}
	if f != nil {
		suppressed = f.suppressed
	}
	if l.kinds == nil {
		l.kinds = map[string]*failure{}
	}
	l.kinds[kind] = &failure{shown: time.Now()}
	return suppressed, true
}
