package open

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// LogTo sends what the RocketMQ and Redis clients log to l, slog.Default() for
// nil. Both are globals of the clients: call it once, before anything else of
// this package. A failure that the Redis client repeats is logged once in ten
// seconds, with the number of lines suppressed since.
func LogTo(l *slog.Logger) {
	if l == nil {
		l = slog.Default()
	}
	listener.LogTo(l)
	redis.SetLogger(&redisLog{log: l})
}

// repeatEvery is how often the log tells of one kind of failure: while a server
// cannot be reached go-redis says so several times a second.
const repeatEvery = 10 * time.Second

type redisLog struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[string]*failure // by format, guarded by mu
}

type failure struct {
	shown      time.Time
	suppressed int // since then
}

// Printf is what go-redis calls, about failures only.
func (l *redisLog) Printf(ctx context.Context, format string, v ...any) {
	suppressed, ok := l.show(format)
	if !ok {
		return
	}
	var attrs []any
	if suppressed > 0 {
		attrs = append(attrs, "suppressed", suppressed)
	}
	l.log.WarnContext(ctx, "redis client: "+fmt.Sprintf(format, v...), attrs...)
}

// show reports whether a line is to be logged now, and how many of its kind were
// not since the last one.
func (l *redisLog) show(format string) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.kinds[format]
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
	l.kinds[format] = &failure{shown: time.Now()}
	return suppressed, true
}
