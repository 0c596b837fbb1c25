package open_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	open.LogTo(nil)
	code := m.Run()
	if strings.Contains(logged.String(), secret) {
		fmt.Fprintln(os.Stderr, "FAIL: the log shows a secret:\n"+logged.String())
		code = 1
	}
	if err := clean(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		code = 1
	}
	os.Exit(code)
}

// logged is all that is logged by this process.
var logged buffer

type buffer struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// prefix keeps what one run of these tests writes apart from everything else.
var prefix = "open-test-" + store.NewToken().String() + ":"

// clean removes what these tests have left on the shared server.
func clean() error {
	addr := os.Getenv("DEDUP_TEST_REDIS")
	if addr == "" {
		return nil
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), ample)
	defer cancel()
	names := client.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for names.Next(ctx) {
		if err := client.Del(ctx, names.Val()).Err(); err != nil {
			return err
		}
	}
	return names.Err()
}

// ample is a deadline that a call which works never needs.
const ample = 30 * time.Second

// configured is a valid configuration that nobody connects to.
func configured() config.Config {
	c := config.Default()
	c.Application = "open-test"
	c.RocketMQ.NameServers = []string{"127.0.0.1:1"}
	c.RocketMQ.Group = "open-test"
	c.RocketMQ.ConsumeFrom = "first"
	c.Store.Redis.Addrs = []string{"127.0.0.1:1"}
	c.Store.Redis.Prefix = prefix
	c.Topics = []config.Topic{{Name: "orders", Key: "keys"}}
	return c
}
