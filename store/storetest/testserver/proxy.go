package testserver

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between clients and one TCP server and can be told to misbehave
// while it runs. Without a fault it passes everything on at once. All methods
// are safe for concurrent use.
//
// A reply is what the proxy reads from the server at one time. With one request
// in flight on a connection and replies of a few hundred bytes that is exactly
// one reply. What a server says by itself counts: MySQL greets a new connection
// with one reply, answers its login with the next, and the first statement with
// the third.
type Proxy struct {
	t      testing.TB
	addr   string
	target string
	done   chan struct{} // closed when the test ends
	wg     sync.WaitGroup

	mu     sync.Mutex // guards all below
	listen net.Listener
	conns  map[net.Conn]struct{}
	faults faults
}

type faults struct {
	swallow       int // replies still to swallow
	cut           int // replies still to replace by the end of the connection
	halveRequests int // requests still to break off in the middle
	halveReplies  int // replies still to break off in the middle
	hole          bool
	delay         time.Duration
}

// NewProxy starts a proxy of target, a host:port, on a free loopback port. It
// is closed, and its goroutines have ended, when the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{
		t: t, addr: loopback(freePort(t)), target: target,
		done: make(chan struct{}), conns: map[net.Conn]struct{}{},
	}
	p.open()
	t.Cleanup(p.close)
	return p
}

// Addr is the host:port to connect to instead of the target.
func (p *Proxy) Addr() string { return p.addr }

// SwallowReplies loses the next n replies: the server has answered, the client
// waits, the connection stays open.
func (p *Proxy) SwallowReplies(n int) { p.set(func(f *faults) { f.swallow = n }) }

// CutReplies loses the next n replies: where each was due the connection ends.
func (p *Proxy) CutReplies(n int) { p.set(func(f *faults) { f.cut = n }) }

// BreakReplies breaks the next n replies off in the middle: the client gets the
// first half, then the connection ends. A pipeline is then answered in part.
func (p *Proxy) BreakReplies(n int) { p.set(func(f *faults) { f.halveReplies = n }) }

// BreakRequests breaks what the next n times comes from a client off in the
// middle: the server gets the first half, then the connection ends.
func (p *Proxy) BreakRequests(n int) { p.set(func(f *faults) { f.halveRequests = n }) }

// BlackHole, while on, accepts connections and takes what is sent, forwards
// nothing and answers nothing. A connection made meanwhile stays dead.
func (p *Proxy) BlackHole(on bool) { p.set(func(f *faults) { f.hole = on }) }

// Delay makes every reply d late, one after the other. Zero ends it.
func (p *Proxy) Delay(d time.Duration) { p.set(func(f *faults) { f.delay = d }) }

// Cut ends all connections at once; new ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close() // its pump sees the error
	}
}

// Refuse, while on, ends all connections and has new ones refused.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	open := p.listen != nil
	if on && open {
		p.listen.Close() // ends accept
		p.listen = nil
	}
	p.mu.Unlock()
	if on {
		p.Cut()
	} else if !open {
		p.open()
	}
}

// Heal ends all faults, Refuse included. Connections that are dead stay so.
func (p *Proxy) Heal() {
	p.set(func(f *faults) { *f = faults{} })
	p.Refuse(false)
}

func (p *Proxy) set(change func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.faults)
}

func (p *Proxy) open() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		p.t.Fatalf("testserver: proxy: %v", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listen = l
	p.wg.Add(1)
	go p.accept(l)
}

func (p *Proxy) close() {
	close(p.done)
	p.Refuse(true)
	p.wg.Wait()
}

func (p *Proxy) accept(l net.Listener) {
	defer p.wg.Done()
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed by Refuse
		}
		if p.track(c, l) {
			p.wg.Add(1)
			go p.serve(c)
		}
	}
}

// track makes c part of every Cut. It refuses c, closed, when its listener l is
// not the current one: then c has been accepted after a Refuse.
func (p *Proxy) track(c net.Conn, l net.Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l != p.listen {
		c.Close() // nothing was sent on it
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) untrack(c net.Conn) {
	c.Close() // a second close is no harm
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) serve(client net.Conn) {
	defer p.wg.Done()
	defer p.untrack(client)
	if p.current().hole {
		_, _ = io.Copy(io.Discard, client) // ends when the client or Cut closes it
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return // the client sees its connection end, as behind a real proxy
	}
	p.mu.Lock()
	p.conns[server] = struct{}{}
	p.mu.Unlock()
	defer p.untrack(server)
	p.wg.Add(1)
	go func() {
		defer p.wg.Done()
		pump(server, client, p.request)
		server.Close() // ends the pump below
	}()
	pump(client, server, p.reply)
	client.Close() // ends the pump above
}

func (p *Proxy) current() faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

type verdict uint8

const (
	pass verdict = iota
	lose
	end
	halve
)

// pump copies what it reads from src to dst as judge says, until either ends.
func pump(dst, src net.Conn, judge func() verdict) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			switch judge() {
			case end:
				return
			case halve:
				_, _ = dst.Write(buf[:n/2]) // it ends anyway
				return
			case pass:
				if _, err := dst.Write(buf[:n]); err != nil {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) request() verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.faults
	switch {
	case f.hole:
		return lose
	case f.halveRequests > 0:
		f.halveRequests--
		return halve
	}
	return pass
}

func (p *Proxy) reply() verdict {
	verdict, delay := p.judge()
	if delay > 0 {
		wait := time.NewTimer(delay)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-p.done:
			return end
		}
	}
	return verdict
}

func (p *Proxy) judge() (verdict, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &p.faults
	switch {
	case f.hole:
		return lose, 0
	case f.swallow > 0:
		f.swallow--
		return lose, 0
	case f.cut > 0:
		f.cut--
		return end, 0
	case f.halveReplies > 0:
		f.halveReplies--
		return halve, 0
	}
	return pass, f.delay
}
