package redisstore

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/line"
)

// lineTo carries the calls of concurrent callers to one server, a group as one
// pipeline. They are not kept apart by record: the server takes them one by one.
//
// AutoPipeline of go-redis 9.23 is as fast for many callers and half as fast for
// one, who waits for two goroutines. It is not used, because it is experimental,
// cannot take back what has not been sent, and is shared with everybody else who uses the client.
type lineTo = line.Line[string, *once]

func (s *Store) newLine() *lineTo {
	limits := line.Limits{
		MaxBusy: 2, Enough: 16,
		Overdue: 20 * time.Millisecond, MaxLate: 8, // another connection may be fine
		Grace: s.limits.read,
	}
	return line.New[string](limits, &s.background, nil, s.execute)
}

// lines are those to the servers: one, or one for each master of a cluster, so
// that a master which is silent holds up its own keys only.
type lines struct {
	one *lineTo // to the only server, or to whichever one has an unknown key

	mu       sync.RWMutex // guards byServer
	byServer map[string]*lineTo
}

// line returns the line to the server of a record.
func (s *Store) line(ctx context.Context, name string) *lineTo {
	cluster, ok := s.client.(interface {
		MasterForKey(context.Context, string) (*redis.Client, error)
	})
	if !ok {
		return s.lines.one
	}
	node, err := cluster.MasterForKey(ctx, name)
	if err != nil {
		return s.lines.one // where the call meets the error, too
	}
	return s.lines.to(s, node.Options().Addr)
}

func (ls *lines) to(s *Store, server string) *lineTo {
	ls.mu.RLock()
	l := ls.byServer[server]
	ls.mu.RUnlock()
	if l != nil {
		return l
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byServer[server]; l != nil {
		return l
	}
	if ls.byServer == nil {
		ls.byServer = map[string]*lineTo{}
	}
	l = s.newLine()
	ls.byServer[server] = l
	return l
}
