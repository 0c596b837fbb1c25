package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// mostBegun is how often a scan begins anew. Behind a proxy to several servers
// it would never end.
const mostBegun = 100

// keyspace reads the next names from the only server, or from the one that the
// sentinels name. A cursor means something to the process that gave it only,
// because each hashes names in its own way; so the server says with every step
// which one it is, and when that is another one than before, one that has taken
// over or the same after a restart, everything is read again.
func (s *Store) keyspace(ctx context.Context, p *place, beginning string) ([]string, error) {
	run, names, next, err := s.step(ctx, p, beginning)
	if err == nil && p.at != 0 && run != p.run {
		if p.begun++; p.begun > mostBegun {
			return nil, fmt.Errorf("redisstore: scan: %w: Query.After is of a scan that %d changes of the server have set back",
				store.ErrInvalid, mostBegun)
		}
		p.at = 0
		run, names, next, err = s.step(ctx, p, beginning)
	}
	if err != nil {
		return nil, err
	}
	p.run, p.at, p.end = run, next, next == 0
	return names, nil
}

// step asks for the next names, and for the server's run, over one connection
// and so of one process.
func (s *Store) step(ctx context.Context, p *place, beginning string) (run string, names []string, next uint64,
	err error) {
	match := globs.Replace(beginning) + "*}"
	for try := 0; ; try++ {
		info := redis.NewStringCmd(ctx, "info", "server")
		scan := redis.NewScanCmd(ctx, nil, "scan", p.at, "match", match, "count", p.step)
		pipe := s.client.Pipeline()
		_ = pipe.Process(ctx, once{info}) // only queues
		_ = pipe.Process(ctx, once{scan})
		_, _ = pipe.Exec(ctx) // each command has its own error
		err := cmp.Or(scan.Err(), info.Err())
		if err == nil {
			names, next := scan.Val()
			return parseInfo(info.Val())["run_id"], names, next, nil
		}
		if _, again := classify(err); !again || try == s.limits.retries || !s.pause(ctx, try) {
			return "", nil, 0, failedScan(err)
		}
	}
}

// globs escapes what means something to MATCH.
var globs = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
