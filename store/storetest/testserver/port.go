package testserver

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// freePort returns a loopback port that nobody listened on a moment ago, and that
// is drawn by no other test, of any process, until t ends: a server that is down for a
// moment would not get it back. Whoever holds the UDP port of that number has it. It is
// below those that systems give to outgoing connections: otherwise a client
// that dials a stopped server again and again would one day be given the
// server's own port, connect to itself and keep the server from starting.
func freePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := 20000 + rand.IntN(12000)
		held, err := net.ListenPacket("udp", loopback(port))
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			held.Close() // nothing was received, so there is nothing to lose
			continue
		}
		l.Close() // nor was anything accepted
		t.Cleanup(func() { held.Close() })
		return port
	}
	t.Fatal("testserver: no free port in 100 draws from 20000 to 31999")
	return 0
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
