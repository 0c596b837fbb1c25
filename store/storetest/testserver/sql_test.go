package testserver_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// each runs a test on both servers.
func each(t *testing.T, test func(*testing.T, func(testing.TB, ...string) *testserver.SQLServer)) {
	t.Parallel()
	t.Run("MariaDB", func(t *testing.T) { t.Parallel(); test(t, testserver.MariaDB) })
	t.Run("MySQL", func(t *testing.T) { t.Parallel(); test(t, testserver.MySQL) })
}

func executes(t *testing.T, s *testserver.SQLServer, sql, want string) {
	t.Helper()
	if got := s.Exec(sql); got != want {
		t.Fatalf("%s: got %q, want %q", sql, got, want)
	}
}

// becomes asks again and again for what a statement on another connection is to
// bring about.
func becomes(t *testing.T, s *testserver.SQLServer, sql, want string) {
	t.Helper()
	var got string
	for began := time.Now(); time.Since(began) < late; {
		if got = s.Exec(sql); got == want {
			return
		}
	}
	t.Fatalf("%s: got %q, want %q", sql, got, want)
}

func TestSQLServersKeepWhatWasCommitted(t *testing.T) {
	each(t, func(t *testing.T, begin func(testing.TB, ...string) *testserver.SQLServer) {
		s := begin(t)
		addr := s.Addr()
		executes(t, s, "CREATE TABLE t (a INT) ENGINE=InnoDB; INSERT INTO t VALUES (1), (2)", "")
		c := login(t, addr)
		accepted(t, c, "BEGIN")
		accepted(t, c, "INSERT INTO t VALUES (3)")
		s.Kill()
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			t.Fatal("a killed server still accepts connections")
		}
		s.Start()
		if s.Addr() != addr {
			t.Fatalf("address after a start: got %s, want %s", s.Addr(), addr)
		}
		executes(t, s, "SELECT a, a * 2 FROM t", "1\t2\n2\t4")
		s.Stop()
		s.Start()
		executes(t, s, "SELECT COUNT(*) FROM t", "2")
	})
}

func TestAFrozenSQLServerAnswersLater(t *testing.T) {
	each(t, func(t *testing.T, begin func(testing.TB, ...string) *testserver.SQLServer) {
		s := begin(t)
		c := login(t, s.Addr())
		s.Freeze()
		if _, err := query(c, soon, "CREATE TABLE t (a INT)"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a frozen server: got %v, want no answer", err)
		}
		s.Thaw()
		if reply, err := packet(c, late); err != nil || reply[0] != sqlOK {
			t.Fatalf("a thawed server: got %q, %v, want the answer", reply, err)
		}
		executes(t, s, "SHOW TABLES", "t")
	})
}

func TestSQLServersTakeOptions(t *testing.T) {
	each(t, func(t *testing.T, begin func(testing.TB, ...string) *testserver.SQLServer) {
		s := begin(t, "--innodb-lock-wait-timeout=3", "--innodb-buffer-pool-size=32M")
		executes(t, s, "SELECT @@innodb_lock_wait_timeout, @@innodb_buffer_pool_size", "3\t33554432")
	})
}

// The defaults that decide what a store must bear: full durability, and errors
// instead of values that were cut.
func TestSQLServersAreSetAsInProduction(t *testing.T) {
	each(t, func(t *testing.T, begin func(testing.TB, ...string) *testserver.SQLServer) {
		s := begin(t)
		executes(t, s, "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin, CURRENT_USER()", "1\t0\troot@127.0.0.1")
		for _, want := range []string{"STRICT_TRANS_TABLES", "NO_ENGINE_SUBSTITUTION"} {
			if got := s.Exec("SELECT @@sql_mode"); !strings.Contains(got, want) {
				t.Errorf("sql_mode: got %s, want %s", got, want)
			}
		}
	})
}

func TestDSNNamesTheDatabaseAndItsParameters(t *testing.T) {
	t.Parallel()
	s := testserver.MariaDB(t)
	base := "root@tcp(" + s.Addr() + ")/"
	if got, want := s.DSN("dedup"), base+"dedup"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := s.DSN("", "parseTime=true", "loc=UTC"), base+"?parseTime=true&loc=UTC"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestProxyCountsTheGreetingOfAnSQLServerAsAReply(t *testing.T) {
	each(t, func(t *testing.T, begin func(testing.TB, ...string) *testserver.SQLServer) {
		s := begin(t)
		p := testserver.NewProxy(t, s.Addr())
		p.CutReplies(1)
		if got, err := packet(dial(t, p.Addr()), late); !errors.Is(err, io.EOF) {
			t.Fatalf("instead of the greeting: got %q, %v, want the end", got, err)
		}
		p.SwallowReplies(1)
		if got, err := packet(dial(t, p.Addr()), soon); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("instead of the greeting: got %q, %v, want nothing", got, err)
		}
		swallows(t, p, 0)
		accepted(t, login(t, p.Addr()), "SET @a = 1")
	})
}

func TestProxyLosesTheReplyToACommit(t *testing.T) {
	each(t, func(t *testing.T, begin func(testing.TB, ...string) *testserver.SQLServer) {
		s := begin(t)
		p := testserver.NewProxy(t, s.Addr())
		s.Exec("CREATE TABLE t (a INT) ENGINE=InnoDB")
		for _, c := range []struct {
			lose func(int)
			wait time.Duration
			want error
			rows string
		}{
			{p.CutReplies, late, io.EOF, "1"},
			{p.BreakReplies, late, io.ErrUnexpectedEOF, "2"},
			{p.SwallowReplies, soon, os.ErrDeadlineExceeded, "3"},
			{p.BreakRequests, late, io.EOF, "3"},
		} {
			conn := login(t, p.Addr())
			c.lose(1)
			if got, err := query(conn, c.wait, "INSERT INTO t VALUES (1)"); !errors.Is(err, c.want) {
				t.Fatalf("got %q, %v, want %v", got, err, c.want)
			}
			becomes(t, s, "SELECT COUNT(*) FROM t", c.rows)
			swallows(t, p, 0)
		}
	})
}

func TestProxyBlackHolesAnSQLServer(t *testing.T) {
	each(t, func(t *testing.T, begin func(testing.TB, ...string) *testserver.SQLServer) {
		s := begin(t)
		p := testserver.NewProxy(t, s.Addr())
		before := login(t, p.Addr())
		p.BlackHole(true)
		for _, c := range []net.Conn{before, dial(t, p.Addr())} {
			if got, err := query(c, soon, "CREATE TABLE t (a INT)"); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("got %q, %v, want nothing", got, err)
			}
		}
		p.Heal()
		accepted(t, login(t, p.Addr()), "SET @a = 1")
		executes(t, s, "SHOW TABLES", "")
	})
}

// What follows is as much of the protocol as these tests need. A packet has its
// length in three bytes and its number in one.

const (
	sqlOK      = 0x00
	sqlQuery   = 0x03
	withSchema = 0x8
	protocol41 = 0x200
	secureConn = 0x8000
	authPlugin = 0x80000
)

// login returns a connection to the database "dedup".
func login(t *testing.T, addr string) net.Conn {
	t.Helper()
	c := dial(t, addr)
	if greeting, err := packet(c, late); err != nil || greeting[0] != 10 {
		t.Fatalf("greeting: got %q, %v, want version 10 of the protocol", greeting, err)
	}
	flags := withSchema | protocol41 | secureConn | authPlugin
	answer := []byte{byte(flags), byte(flags >> 8), byte(flags >> 16), 0, 0, 0, 0, 1, 33}
	answer = append(answer, make([]byte, 23)...)
	answer = append(answer, "root\x00"+"\x00"+"dedup\x00mysql_native_password\x00"...)
	if reply, err := send(c, late, 1, answer); err != nil || reply[0] != sqlOK {
		t.Fatalf("login: got %q, %v, want success", reply, err)
	}
	return c
}

func accepted(t *testing.T, c net.Conn, sql string) {
	t.Helper()
	if reply, err := query(c, late, sql); err != nil || reply[0] != sqlOK {
		t.Fatalf("%s: got %q, %v, want success", sql, reply, err)
	}
}

// query returns the answer to a statement without rows.
func query(c net.Conn, wait time.Duration, sql string) ([]byte, error) {
	return send(c, wait, 0, append([]byte{sqlQuery}, sql...))
}

func send(c net.Conn, wait time.Duration, number byte, body []byte) ([]byte, error) {
	head := []byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), number}
	if _, err := c.Write(bytes.Join([][]byte{head, body}, nil)); err != nil {
		return nil, err
	}
	return packet(c, wait)
}

func packet(c net.Conn, wait time.Duration) ([]byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		return nil, err
	}
	body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err := io.ReadFull(c, body)
	return body, err
}
