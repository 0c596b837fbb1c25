package rmqtest_test

import (
	"bufio"
	"net"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// rawConn is a connection on which a test writes requests itself.
type rawConn struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
	n  int32 // requests so far
}

func dial(t *testing.T, b *rmqtest.Broker) *rawConn {
	t.Helper()
	return dialTo(t, b.NameServer())
}

func dialTo(t *testing.T, addr string) *rawConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(patience))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // nothing is lost with it
	return &rawConn{Conn: c, t: t, in: bufio.NewReader(c)}
}

// tell sends a request and returns its number.
func (c *rawConn) tell(r rmqtest.Request, fields map[string]string, body []byte, flag int) int32 {
	c.t.Helper()
	c.n++
	err := remoting.Write(c, &remoting.Command{
		Code: int(r), Language: "GO", Version: 317, Opaque: c.n, Flag: flag, ExtFields: fields, Body: body,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.n
}

// read returns the next frame.
func (c *rawConn) read() *remoting.Command {
	c.t.Helper()
	command, err := remoting.Read(c.in)
	if err != nil {
		c.t.Fatal(err)
	}
	return command
}

// ask sends a request and returns its answer. What the broker asks meanwhile is
// passed over.
func (c *rawConn) ask(r rmqtest.Request, fields map[string]string, body []byte) *remoting.Command {
	c.t.Helper()
	n := c.tell(r, fields, body, 0)
	for {
		if answer := c.read(); answer.Flag&remoting.IsResponse != 0 && answer.Opaque == n {
			return answer
		}
	}
}
