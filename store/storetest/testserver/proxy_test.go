package testserver_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// soon is how long a test waits to see that nothing comes.
const soon = 50 * time.Millisecond

// late is how long a test waits for what must come.
const late = 10 * time.Second

// echo starts a server that answers every line with the same line, and counts
// the lines it has read.
func echo(t *testing.T) (addr string, lines <-chan string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	seen := make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					seen <- line
					if _, err := io.WriteString(c, line); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), seen
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask sends a line and returns the answer, or the error of waiting for it.
func ask(c net.Conn, wait time.Duration) (string, error) {
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		return "", err
	}
	if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

func answers(t *testing.T, c net.Conn) {
	t.Helper()
	if got, err := ask(c, late); got != "hello\n" || err != nil {
		t.Fatalf("got %q, %v, want an answer", got, err)
	}
}

func silent(t *testing.T, c net.Conn) {
	t.Helper()
	if got, err := ask(c, soon); got != "" || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %q, %v, want nothing", got, err)
	}
}

func ended(t *testing.T, c net.Conn) {
	t.Helper()
	if got, err := ask(c, late); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %q, %v, want the end of the connection", got, err)
	}
}

// swallows waits until the proxy has so many replies still to swallow: on a busy
// machine they come late.
func swallows(t *testing.T, p *testserver.Proxy, left int) {
	t.Helper()
	for began := time.Now(); p.Swallowing() != left; time.Sleep(time.Millisecond) {
		if time.Since(began) > late {
			t.Fatalf("%d replies are still to be swallowed, want %d", p.Swallowing(), left)
		}
	}
}

func TestProxySwallowsTheNextReplies(t *testing.T) {
	t.Parallel()
	addr, seen := echo(t)
	p := testserver.NewProxy(t, addr)
	c := dial(t, p.Addr())
	answers(t, c)
	<-seen
	p.SwallowReplies(2)
	silent(t, c)
	<-seen // the server has read what it answered in vain
	swallows(t, p, 1)
	silent(t, c)
	swallows(t, p, 0)
	answers(t, c)
}

func TestProxyCutsTheConnectionInsteadOfTheNextReplies(t *testing.T) {
	t.Parallel()
	addr, seen := echo(t)
	p := testserver.NewProxy(t, addr)
	c := dial(t, p.Addr())
	p.CutReplies(1)
	ended(t, c)
	<-seen
	answers(t, dial(t, p.Addr()))
}

func TestProxyBreaksTheNextRepliesOffInTheMiddle(t *testing.T) {
	t.Parallel()
	addr, seen := echo(t)
	p := testserver.NewProxy(t, addr)
	c := dial(t, p.Addr())
	p.BreakReplies(1)
	if got, err := ask(c, late); got != "hel" || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %q, %v, want half an answer and the end of the connection", got, err)
	}
	<-seen
	answers(t, dial(t, p.Addr()))
}

func TestProxyBreaksTheNextRequestsOffInTheMiddle(t *testing.T) {
	t.Parallel()
	addr, seen := echo(t)
	p := testserver.NewProxy(t, addr)
	c := dial(t, p.Addr())
	p.BreakRequests(1)
	ended(t, c)
	select {
	case line := <-seen:
		t.Fatalf("the server got the whole line %q", line)
	default:
	}
	answers(t, dial(t, p.Addr()))
}

func TestProxyCutEndsConnectionsAndAcceptsNewOnes(t *testing.T) {
	t.Parallel()
	addr, _ := echo(t)
	p := testserver.NewProxy(t, addr)
	c := dial(t, p.Addr())
	answers(t, c)
	p.Cut()
	ended(t, c)
	answers(t, dial(t, p.Addr()))
}

func TestProxyRefusesUntilItIsHealed(t *testing.T) {
	t.Parallel()
	addr, _ := echo(t)
	p := testserver.NewProxy(t, addr)
	c := dial(t, p.Addr())
	answers(t, c)
	p.Refuse(true)
	p.Refuse(true)
	ended(t, c)
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("dial: got %v, want connection refused", err)
	}
	p.Heal()
	answers(t, dial(t, p.Addr()))
}

func TestProxyBlackHoleTakesAndNeverAnswers(t *testing.T) {
	t.Parallel()
	addr, seen := echo(t)
	p := testserver.NewProxy(t, addr)
	before := dial(t, p.Addr())
	answers(t, before)
	<-seen
	p.BlackHole(true)
	during := dial(t, p.Addr())
	silent(t, before)
	silent(t, during)
	select {
	case line := <-seen:
		t.Fatalf("the server got %q through a black hole", line)
	default:
	}
	p.Heal()
	answers(t, before)
	silent(t, during)
	answers(t, dial(t, p.Addr()))
}

func TestProxyDelaysReplies(t *testing.T) {
	t.Parallel()
	addr, _ := echo(t)
	p := testserver.NewProxy(t, addr)
	c := dial(t, p.Addr())
	p.Delay(2 * soon)
	from := time.Now()
	answers(t, c)
	if took := time.Since(from); took < 2*soon {
		t.Errorf("answered after %v, want at least %v", took, 2*soon)
	}
}

func TestProxyEndsConnectionsWhoseTargetIsGone(t *testing.T) {
	t.Parallel()
	p := testserver.NewProxy(t, "127.0.0.1:1") // no port of an outgoing connection, which could be to itself
	ended(t, dial(t, p.Addr()))
}
