package open

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
)

// LogTo sends what the RocketMQ and Redis clients log to l, slog.Default() for
// nil. Both are globals of the clients: call it once, before anything else of
// this package.
func LogTo(l *slog.Logger) {
	if l == nil {
		l = slog.Default()
	}
	listener.LogTo(l)
	redis.SetLogger(redisLog{l})
}

type redisLog struct{ *slog.Logger }

// Printf is what go-redis calls, about failures only.
func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.WarnContext(ctx, "redis client: "+fmt.Sprintf(format, v...))
}
