package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// puppet is a server in memory that does what a test says, for tests under fake
// time. It knows SET with NX and GET, takes every script for one that answers 1,
// and forgets nothing.
type puppet struct {
	mu      sync.Mutex // guards what follows
	values  map[string]string
	log     []string // the commands on records that it has executed: "set name" or "script name"
	freezes int      // how many more will freeze their connections
	thawed  chan struct{}
	dials   int
	away    bool
	servers sync.WaitGroup
}

func newPuppet() *puppet { return &puppet{values: map[string]string{}, thawed: make(chan struct{})} }

// client returns a client as connect does, of p.
func (p *puppet) client(t *testing.T) *redis.Client {
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", ContextTimeoutEnabled: true, ReadTimeout: time.Second, PoolSize: 100,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) },
	})
	t.Cleanup(func() {
		p.thaw()
		client.Close()
		synctest.Wait() // for connections that the pool is still making
		p.servers.Wait()
	})
	return client
}

func (p *puppet) dial(ctx context.Context) (net.Conn, error) {
	p.mu.Lock()
	p.dials++
	away, thawed := p.away, p.thawed
	p.mu.Unlock()
	if away {
		select {
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
		case <-thawed:
		}
	}
	near, far := net.Pipe()
	p.servers.Go(func() { p.serve(far) })
	return near, nil
}

// leave has p let nobody connect, without a word, until thaw.
func (p *puppet) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = true
}

// freeze has the next n commands on records freeze their connections: what is
// sent there is taken, and nothing happens to it until thaw, not even when the
// client has closed the connection meanwhile.
func (p *puppet) freeze(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freezes = n
}

func (p *puppet) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freezes, p.away = 0, false
	close(p.thawed)
	p.thawed = make(chan struct{})
}

// took returns the commands on records since the last time.
func (p *puppet) took() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	log := p.log
	p.log = nil
	return log
}

func (p *puppet) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	replies := make(chan string, 1000)
	var writer sync.WaitGroup
	writer.Go(func() {
		for reply := range replies {
			if _, err := io.WriteString(c, reply); err != nil {
				c.Close() // ends the reader
			}
		}
	})
	defer writer.Wait()
	requests := make(chan []string, 1000) // so that the client never waits for a frozen connection
	writer.Go(func() {
		defer close(replies)
		for args := range requests {
			p.thawBefore(args)
			replies <- p.answer(args)
		}
	})
	defer close(requests)
	for {
		args, err := readCommand(in)
		if err != nil {
			return
		}
		requests <- args
	}
}

// thawBefore waits as long as the connection of the command is frozen.
func (p *puppet) thawBefore(args []string) {
	p.mu.Lock()
	frozen := p.freezes > 0 && onRecord(args)
	if frozen {
		p.freezes--
	}
	thawed := p.thawed
	p.mu.Unlock()
	if frozen {
		<-thawed
	}
}

func onRecord(args []string) bool { return args[0] == "set" || strings.HasPrefix(args[0], "eval") }

func (p *puppet) answer(args []string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch args[0] {
	case "hello":
		return "-ERR unknown command\r\n"
	case "set":
		p.log = append(p.log, "set "+args[1])
		old, found := p.values[args[1]]
		if !found || !slices.Contains(args, "nx") {
			p.values[args[1]] = args[2]
		}
		return bulk(old, found)
	case "get":
		value, found := p.values[args[1]]
		return bulk(value, found)
	case "evalsha":
		p.log = append(p.log, "script "+args[3])
		if len(args) == 9 { // a claim
			return "*3\r\n:1\r\n:1\r\n:0\r\n"
		}
		return "*1\r\n:1\r\n"
	}
	return "+OK\r\n"
}

func bulk(value string, found bool) string {
	if !found {
		return "$-1\r\n"
	}
	return fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
}

func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readLength(in)
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := readLength(in)
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		args[i] = string(text[:size])
	}
	return args, nil
}

func readLength(in *bufio.Reader) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
