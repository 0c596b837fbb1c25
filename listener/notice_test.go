package listener_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

func TestNoticesAboutTopicsHaveAnEnd(t *testing.T) {
	var lines strings.Builder // slog serialises its writes
	l, err := listener.NewDedupConcurrentListener("billing", busy(0), listener.Options{
		Key: listener.KeyFromProperty("ORDER"), Guard: dedup.Options{Logger: slog.New(slog.NewTextHandler(&lines, nil))},
	})
	if err != nil {
		t.Fatal(err)
	}
	cb := l.Each(nothing)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for i := range 1100 {
				cb(context.Background(), delivered("t"+strconv.Itoa(i), "1", 0))
			}
		})
	}
	all.Wait()
	if got := strings.Count(lines.String(), "\n"); got != 1000 {
		t.Errorf("got %d lines about 1100 topics, want one each for the first 1000", got)
	}
	if strings.Contains(lines.String(), "Options.Topics") {
		t.Error("a listener that names no topic misses one")
	}
}
