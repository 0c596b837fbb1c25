package testserver_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// say sends one inline command and returns the first line of the answer.
func say(c net.Conn, wait time.Duration, command string) (string, error) {
	if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line), err
}

func says(t *testing.T, c net.Conn, command, want string) {
	t.Helper()
	if got, err := say(c, late, command); got != want || err != nil {
		t.Fatalf("%s: got %q, %v, want %q", command, got, err, want)
	}
}

func TestRedisKeepsItsDataOverKillAndRestart(t *testing.T) {
	t.Parallel()
	s := testserver.Redis(t, "--appendonly", "yes", "--appendfsync", "no")
	addr := s.Addr()
	says(t, dial(t, addr), "SET a 1", "+OK")
	s.Kill()
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Fatal("a killed server still accepts connections")
	}
	s.Restart()
	if s.Addr() != addr {
		t.Fatalf("address after restart: got %s, want %s", s.Addr(), addr)
	}
	says(t, dial(t, addr), "EXISTS a", ":1")
}

// Another test could draw it otherwise.
func TestThePortOfAServerThatIsDownIsTaken(t *testing.T) {
	t.Parallel()
	s := testserver.Redis(t)
	s.Kill()
	if c, err := net.ListenPacket("udp", s.Addr()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v, %v, want the port to be held", c, err)
	}
	s.Restart()
	says(t, dial(t, s.Addr()), "SET a 1", "+OK")
}

func TestRedisForgetsWithoutPersistence(t *testing.T) {
	t.Parallel()
	s := testserver.Redis(t)
	says(t, dial(t, s.Addr()), "SET a 1", "+OK")
	s.Restart()
	says(t, dial(t, s.Addr()), "EXISTS a", ":0")
}

func TestRedisAnswersAfterAPause(t *testing.T) {
	t.Parallel()
	s := testserver.Redis(t)
	c := dial(t, s.Addr())
	s.Pause()
	if got, err := say(c, soon, "SET a 1"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a paused server: got %q, %v, want no answer", got, err)
	}
	s.Resume()
	says(t, dial(t, s.Addr()), "EXISTS a", ":1")
}

func TestRedisTakesOptions(t *testing.T) {
	t.Parallel()
	s := testserver.Redis(t, "--requirepass", "secret")
	c := dial(t, s.Addr())
	says(t, c, "AUTH wrong", "-WRONGPASS invalid username-password pair or user is disabled.")
	says(t, c, "AUTH secret", "+OK")
}

func TestCertificatesAreRightAndWrong(t *testing.T) {
	t.Parallel()
	ca := testserver.NewCA(t)
	tomorrow, yesterday := time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour)
	var wrongName x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	for _, c := range []struct {
		name  string
		host  string
		until time.Time
		roots *x509.CertPool
		want  any // what errors.As must find, nil for success
	}{
		{"right", "127.0.0.1", tomorrow, ca.Pool(), nil},
		{"wrong name", "elsewhere.example", tomorrow, ca.Pool(), &wrongName},
		{"expired", "127.0.0.1", yesterday, ca.Pool(), &invalid},
		{"unknown authority", "127.0.0.1", tomorrow, testserver.NewCA(t).Pool(), &unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := testserver.Redis(t, ca.Issue(t, c.host, c.until).RedisArgs(ca)...)
			conn, err := tls.Dial("tcp", s.Addr(), &tls.Config{RootCAs: c.roots})
			if c.want != nil {
				if !errors.As(err, c.want) {
					t.Fatalf("dial: got %v, want %T", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatalf("dial: %v", err)
			}
			defer conn.Close()
			says(t, conn, "PING", "+PONG")
		})
	}
}
