package rmqtest

import (
	"bufio"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

const (
	writeTimeout = 5 * time.Second // how long a client may leave a frame unread
	acceptPause  = 10 * time.Millisecond
)

type conn struct {
	net.Conn
	ended  chan struct{} // closed when no more requests come
	write  sync.Mutex    // one frame at a time
	client string        // as its heartbeat says, "" before; guarded by Broker.mu
}

func (b *Broker) accept() {
	for {
		raw, err := b.listener.Accept()
		if b.closed() {
			if err == nil {
				_ = raw.Close() // nobody will serve it
			}
			return
		}
		if err != nil {
			time.Sleep(acceptPause) // out of file descriptors, say
			continue
		}
		c := &conn{Conn: raw, ended: make(chan struct{})}
		b.mu.Lock()
		b.conns[c] = true
		b.mu.Unlock()
		b.work.Go(func() { b.serve(c) })
	}
}

func (b *Broker) serve(c *conn) {
	defer b.leave(c)
	in := bufio.NewReader(c)
	for !b.closed() { // it may have come between Close's done and its cut
		command, err := remoting.Read(in)
		if err != nil {
			return
		}
		if command.Flag&remoting.IsResponse == 0 {
			b.handle(&request{conn: c, Command: command})
		}
	}
}

func (b *Broker) closed() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

func (b *Broker) leave(c *conn) {
	_ = c.Close() // it may be closed already
	close(c.ended)
	b.mu.Lock()
	delete(b.conns, c)
	b.mu.Unlock()
	b.leaveGroups(c)
}

// cut closes the connections in question.
func (b *Broker) cut(which func(*conn) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.conns {
		if which(c) {
			_ = c.Close() // serve notices
		}
	}
}

// send writes a frame, or gives the connection up.
func (c *conn) send(command *remoting.Command) {
	c.write.Lock()
	defer c.write.Unlock()
	err := c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		err = remoting.Write(c, command)
	}
	if err != nil {
		_ = c.Close() // serve notices
	}
}

func (c *conn) peer() netip.AddrPort { return addrPort(c.RemoteAddr()) }

func addrPort(a net.Addr) netip.AddrPort {
	tcp, _ := a.(*net.TCPAddr) // nothing else is listened on
	return netip.AddrPortFrom(tcp.AddrPort().Addr().Unmap(), uint16(tcp.Port))
}
