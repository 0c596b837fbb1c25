package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Finding is one thing about a server or its client that endangers the
// contract. It is an error, so that findings can be joined.
type Finding struct {
	Server  string // host:port, "" when it is about the client or the cluster
	Field   string // the setting, as its own documentation calls it
	Problem string
	Remedy  string

	// Advice marks what endangers records only after something else has gone
	// wrong, such as a crash of the server. Check leaves it out.
	Advice bool
}

// Error names field, server, problem and remedy.
func (f *Finding) Error() string {
	at := ""
	if f.Server != "" {
		at = " on " + f.Server
	}
	return fmt.Sprintf("redisstore: %s%s: %s; %s", f.Field, at, f.Problem, f.Remedy)
}

// Check takes scratch records through every script and along the fast path, and
// looks at the settings of every master. It returns nil, or all findings that
// are no advice as [*Finding], and errors that kept it from looking, joined. It
// touches no record of the application.
func (s *Store) Check(ctx context.Context) error {
	findings, err := s.Inspect(ctx)
	errs := []error{err}
	for _, f := range findings {
		if !f.Advice {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}

// Inspect is Check with the advice: all findings, and what kept it from looking.
func (s *Store) Inspect(ctx context.Context) ([]*Finding, error) {
	findings, errServers := s.inspectServers(ctx)
	scripts, errScripts := s.tryScripts(ctx)
	fast, errFast := s.judgeFastPath(ctx)
	return slices.Concat(findings, scripts, fast), errors.Join(errServers, errScripts, errFast)
}

// inspectServers reads INFO of every master.
func (s *Store) inspectServers(ctx context.Context) ([]*Finding, error) {
	var mu sync.Mutex // guards all
	var all []*Finding
	// look adds the findings about one server.
	look := func(ctx context.Context, server string, client redis.Cmdable) error {
		text, err := client.Info(ctx).Result()
		if err != nil {
			class, _ := classify(err)
			return &store.Error{Driver: "redisstore", Op: "info of " + server, Class: class, Err: redacted(err)}
		}
		found := s.judge(server, parseInfo(text))
		mu.Lock()
		defer mu.Unlock()
		all = append(all, found...)
		return nil
	}
	cluster, ok := s.client.(interface {
		ForEachMaster(context.Context, func(context.Context, *redis.Client) error) error
	})
	if !ok {
		err := look(ctx, s.limits.server, s.client)
		return all, err
	}
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		return look(ctx, node.Options().Addr, node)
	})
	slices.SortStableFunc(all, func(a, b *Finding) int { return strings.Compare(a.Server, b.Server) })
	return all, err
}

// scratch is the name of a record to try things with. It has one colon between
// the braces, that of a record has three.
func (s *Store) scratch() string {
	return s.options.Prefix + "{check:" + store.NewToken().String() + "}"
}

// tryScripts takes a scratch record through its life.
func (s *Store) tryScripts(ctx context.Context) ([]*Finding, error) {
	name, a, b := s.scratch(), store.NewToken().String(), store.NewToken().String()
	const lease, horizon, keep = 60_000, 60_000, 1_000 // ms; the record is gone after keep
	const positive = -1                                // wanted: any number above 0
	for _, step := range []struct {
		op     string
		script *script
		token  string
		args   []int64
		want   int64
	}{
		{"claim", claimScript, a, []int64{lease, horizon, 0, 0}, 1},
		{"claim of another", claimScript, b, []int64{lease, horizon, 0, 0}, 2},
		{"renew", renewScript, a, nil, 1},
		{"fence", fenceScript, a, nil, positive},
		{"release", releaseScript, a, []int64{1}, 1},
		{"claim of a released key", claimScript, b, []int64{lease, horizon, 0, 0}, 1},
		{"park", parkScript, b, []int64{keep}, 1},
		{"complete", completeScript, b, []int64{keep}, 3},
		{"longer keep", prolongScript, b, []int64{keep}, 1},
		{"claim of a done key", claimScript, a, []int64{lease, horizon, 0, 0}, 3},
		{"look", lookScript, "", nil, int64(store.StatusConsumed)},
	} {
		answer, err := s.run(ctx, "check: "+step.op, step.script, name, step.token, step.args...)
		if err != nil {
			return nil, err
		}
		if answer[0] != step.want && (step.want != positive || answer[0] <= 0) {
			return []*Finding{{
				Field:   "scripts",
				Problem: fmt.Sprintf("%s answered %d on a scratch record, want %d", step.op, answer[0], step.want),
				Remedy:  "use a Redis 6.2 or later, or a server that runs its Lua scripts the same way",
			}}, nil
		}
	}
	if !s.noFlags.Load() {
		return nil, nil
	}
	return []*Finding{{
		Field:   "redis_version",
		Problem: "the server knows no script flags, so it refuses to complete a claim when its memory is full",
		Remedy:  "use Redis 7.0 or later, or keep memory free",
		Advice:  true,
	}}, nil
}
