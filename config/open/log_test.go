package open_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
)

func TestWhatTheRedisClientRepeatsIsLoggedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := open.RedisLog(slog.New(slog.NewTextHandler(&out, nil)))
		for i := range 15 {
			l.Printf(t.Context(), "dial: attempt %d", i)
			time.Sleep(time.Second)
		}
		l.Printf(t.Context(), "another failure")
		var got []string
		for line := range strings.Lines(out.String()) {
			_, text, _ := strings.Cut(line, "redis client: ")
			got = append(got, strings.TrimSpace(text))
		}
		want := []string{`dial: attempt 0"`, `dial: attempt 10" suppressed=9`, `another failure"`}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestWhatTheMySQLClientRepeatsIsLoggedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := open.MySQLLog(slog.New(slog.NewTextHandler(&out, nil)))
		for port := range 3 {
			l.Print("packets.go:58 ", "read from port ", port)
		}
		l.Print("connection.go:190 ", "closing connection")
		time.Sleep(time.Minute)
		l.Print("packets.go:58 ", "again")
		l.Print()
		var got []string
		for line := range strings.Lines(out.String()) {
			_, text, _ := strings.Cut(line, "mysql client: ")
			got = append(got, strings.TrimSpace(text))
		}
		want := []string{
			`packets.go:58 read from port 0"`, `connection.go:190 closing connection"`, `packets.go:58 again" suppressed=2`, `"`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
