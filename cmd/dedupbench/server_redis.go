package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
)

type redisServer struct{ *redis.Client }

func openRedis(ctx context.Context, address string) (server, error) {
	client := redis.NewClient(&redis.Options{Addr: address})
	if err := client.Ping(ctx).Err(); err != nil {
		_ = client.Close() // nothing is on its way
		return nil, fmt.Errorf("-redis: %w", err)
	}
	return redisServer{client}, nil
}

func (r redisServer) about(ctx context.Context) string {
	return "Redis " + infoOf(ctx, r.Client, "server")["redis_version"]
}

func (r redisServer) cpu(ctx context.Context) *float64 {
	info := infoOf(ctx, r.Client, "cpu")
	user, err1 := strconv.ParseFloat(info["used_cpu_user"], 64)
	sys, err2 := strconv.ParseFloat(info["used_cpu_sys"], 64)
	if err1 != nil || err2 != nil {
		return nil
	}
	sum := user + sys
	return &sum
}

func (r redisServer) forget(s stage) {
	ctx := context.Background()
	names := r.Scan(ctx, 0, s.Prefix+"*", 1000).Iterator()
	pipe := r.Pipeline()
	for names.Next(ctx) {
		pipe.Unlink(ctx, names.Val())
	}
	_, _ = pipe.Exec(ctx) // they end with their time all the same
}

// infoOf is one section of INFO.
func infoOf(ctx context.Context, client *redis.Client, section string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(client.Info(ctx, section).Val()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// inRedisStore is the store that ours uses in Redis.
func inRedisStore(ctx context.Context, s stage, p *probe) (store.Store, func() error, error) {
	o := redisOptions(s, p)
	o.ContextTimeoutEnabled, o.ReadTimeout = true, time.Second
	client := redis.NewClient(o)
	records, err := redisstore.New(client, redisstore.Options{Prefix: s.Prefix})
	if err == nil {
		err = warm(ctx, client)
	}
	return records, client.Close, err
}

// redisOptions are the same for all that use Redis: no callback waits for a
// connection, and none for what only RESP3 has.
func redisOptions(s stage, p *probe) *redis.Options {
	return &redis.Options{Addr: s.Redis, PoolSize: s.Callbacks, Protocol: 2, Dialer: p.trips.dial}
}

// warm opens every connection of the pool.
func warm(ctx context.Context, client *redis.Client) error {
	for range client.Options().PoolSize {
		conn := client.Conn()
		defer conn.Close()
		if err := conn.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
	}
	return nil
}
