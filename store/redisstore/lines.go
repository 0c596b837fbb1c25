package redisstore

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// lines are those to the servers: one, or one for each master of a cluster, so
// that a master which is silent holds up its own keys only.
type lines struct {
	one line // to the only server, or to whichever one has an unknown key

	mu       sync.RWMutex // guards byServer
	byServer map[string]*line
}

// line returns the line to the server of a record.
func (s *Store) line(ctx context.Context, name string) *line {
	cluster, ok := s.client.(interface {
		MasterForKey(context.Context, string) (*redis.Client, error)
	})
	if !ok {
		return &s.lines.one
	}
	node, err := cluster.MasterForKey(ctx, name)
	if err != nil {
		return &s.lines.one // where the call meets the error, too
	}
	return s.lines.to(s, node.Options().Addr)
}

func (ls *lines) to(s *Store, server string) *line {
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
		ls.byServer = map[string]*line{}
	}
	l = &line{s: s}
	ls.byServer[server] = l
	return l
}
