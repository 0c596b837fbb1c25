package open

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

// startTimeout bounds the first conversation with a server whose context has
// no deadline.
const startTimeout = 10 * time.Second

// Store returns the store that c describes, and what closes it when nobody uses
// it any more. Servers are connected and checked first: what the store needs
// works, and their settings keep records. What is only unwise is logged as a
// warning by slog.Default.
//
// The table of a MySQL store is made or mended first if c says so
// (store.mysql.migrate), for as long as ctx allows. The expired records of a
// database are removed in the background (store.sweep) until the store is closed.
func Store(ctx context.Context, c config.Config) (s store.Store, closeStore func() error, err error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	switch c.Store.Type {
	case "redis":
		return redisStore(ctx, c)
	case "mysql":
		return mysqlStore(ctx, c)
	case "sqlite":
		return sqliteStore(ctx, c)
	}
	s, err = memstore.New(memstore.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	return s, func() error { return nil }, nil
}

func redisStore(ctx context.Context, c config.Config) (store.Store, func() error, error) {
	options, err := clientOptions(c.Store.Redis)
	if err != nil {
		return nil, nil, fmt.Errorf("store.redis.tls: %w", err)
	}
	client := redis.NewUniversalClient(options)
	newStore := redisstore.New
	if c.Store.Redis.JavaCompatible {
		newStore = redisstore.NewJavaCompatible
	}
	s, err := newStore(client, redisstore.Options{
		Prefix:        c.Store.Redis.Prefix,
		MinLease:      shortestLease(c),
		AllowEviction: c.Store.Redis.AllowEviction,
		NoPipelining:  c.Store.Redis.NoPipelining,
	})
	if err == nil {
		err = check(ctx, s, c.Store.Redis.TLS.Enabled)
	}
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return s, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Wait(ctx) // a release that is cut off costs its key one lease
		return client.Close()
	}, nil
}

// clientOptions spells the number of tries out, because the configuration was
// validated for it: three more after the first. The client itself dials once for
// each: it would otherwise dial until the time for the call is over, and say only
// that.
func clientOptions(c config.Redis) (*redis.UniversalOptions, error) {
	encryption, err := c.TLS.Config()
	if err != nil {
		return nil, err
	}
	o := &redis.UniversalOptions{
		Addrs:                 c.Addrs,
		Username:              c.Username,
		Password:              c.Password.Reveal(),
		DB:                    c.DB,
		IsClusterMode:         c.Cluster,
		MasterName:            c.Sentinel.MasterName,
		SentinelUsername:      c.Sentinel.Username,
		SentinelPassword:      c.Sentinel.Password.Reveal(),
		TLSConfig:             encryption,
		PoolSize:              c.PoolSize,
		DialTimeout:           c.DialTimeout,
		ReadTimeout:           c.ReadTimeout,
		WriteTimeout:          c.WriteTimeout,
		ContextTimeoutEnabled: true,
		DialerRetries:         1,
		Protocol:              2, // RESP3 costs more and gives nothing here
		MaxRetries:            3,
		MaxRedirects:          3,
	}
	if c.Cluster {
		o.MaxRetries = 0 // a cluster counts redirections, and would retry within each
	}
	return o, nil
}

func shortestLease(c config.Config) time.Duration {
	lease := c.PolicyOf(config.Topic{}).Lease
	for _, t := range c.Topics {
		lease = min(lease, c.PolicyOf(t).Lease)
	}
	return lease
}

// check returns what endangers records, one error per setting.
func check(ctx context.Context, s *redisstore.Store, encrypted bool) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	findings, err := s.Inspect(ctx)
	errs := []error{err}
	for _, f := range findings {
		if f.Advice {
			slog.WarnContext(ctx, "dedup: "+f.Error())
			continue
		}
		errs = append(errs, f)
	}
	causes := redisCauses
	if encrypted {
		causes = slices.Concat(silentHandshake, causes)
	}
	return explained(errors.Join(errs...), causes)
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, startTimeout)
}
