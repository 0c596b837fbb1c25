package main

import (
	"io"
	"net"
	"syscall"
	"testing"
)

func TestARoundTripIsAWriteThatIsAnswered(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = io.Copy(conn, conn) // an echo, until the client closes
			_ = conn.Close()
		}
	}()
	var all trips
	conn, err := all.dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := func(parts ...string) {
		t.Helper()
		size := 0
		for _, part := range parts {
			if _, err := conn.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
			size += len(part)
		}
		if _, err := io.ReadFull(conn, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	ask("one")
	ask("a pipeline", " in", " three writes")
	ask("x")
	if got := all.count.Load(); got != 3 {
		t.Errorf("got %d round trips, want 3", got)
	}
	if _, ok := conn.(syscall.Conn); !ok {
		t.Error("go-redis cannot see the socket and would skip its check of the connection")
	}
}
