package mysqlstore_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// These are all the numbers that the store knows, by what they mean to it.
var (
	again     = []uint16{1020, 1040, 1047, 1135, 1203, 1205, 1206, 1213, 1290, 1461, 1615, 1637, 1792, 1836} // not applied, and worth a repeat at once
	notNow    = []uint16{1021, 1037, 1038, 1041, 1114, 1129, 1223, 1226, 1969, 3100}
	open      = []uint16{1053, 1180, 1317, 1927} // unknown, and worth a repeat at once
	permanent = []uint16{
		1044, 1045, 1046, 1048, 1049, 1054, 1060, 1061, 1062, 1064, 1071, 1075, 1091, 1118, 1130, 1136, 1138, 1142, 1143,
		1146, 1153, 1193, 1227, 1251, 1264, 1265, 1292, 1347, 1364, 1366, 1406, 1524, 1690, 1698, 1820, 1862,
	}
)

func TestWhatAServerAnswersHasAClass(t *testing.T) {
	t.Parallel()
	listed := map[uint16]bool{}
	for _, group := range []struct {
		numbers []uint16
		class   store.Class
		again   bool
	}{
		{again, store.NotApplied, true}, {notNow, store.NotApplied, false},
		{open, store.Unknown, true}, {permanent, store.Permanent, false},
		{[]uint16{9999}, store.Unknown, false},
	} {
		for _, n := range group.numbers {
			listed[n] = true
			err := fmt.Errorf("wrapped: %w", &mysql.MySQLError{Number: n})
			for _, err := range []error{err, mysqlstore.NoConnection(err)} {
				if class, again := mysqlstore.Classify(err); class != group.class || again != group.again {
					t.Errorf("%v: got %v, again %v, want %v, again %v", err, class, again, group.class, group.again)
				}
			}
			if class, again := mysqlstore.Classify(mysqlstore.Applied(err)); class != store.Unknown || !again {
				t.Errorf("%d of a read: got %v, again %v, want unknown, again", n, class, again)
			}
		}
	}
	for _, n := range mysqlstore.KnownReplies() {
		if !listed[n] {
			t.Errorf("error %d is in no list of this test", n)
		}
	}
}

func TestWhatIsNoAnswerHasAClass(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err   error
		class store.Class
		again bool
	}{
		"context ended before the call": {mysqlstore.NotSent(context.Canceled), store.NotApplied, false},
		"record vanished":               {mysqlstore.ErrVanished, store.NotApplied, true},
		"read back failed":              {mysqlstore.Applied(context.DeadlineExceeded), store.Unknown, true},
		"certificate refused":           {&tls.CertificateVerificationError{Err: errors.New("old")}, store.Permanent, false},
		"unknown authority":             {x509.UnknownAuthorityError{}, store.Permanent, false},
		"server speaks no TLS":          {tls.RecordHeaderError{}, store.Permanent, false},
		"server has no TLS":             {mysqlstore.NoConnection(mysql.ErrNoTLS), store.Permanent, false},
		"pool closed":                   {mysqlstore.NoConnection(closedPool(t)), store.Permanent, false},
		"no connection, time over":      {mysqlstore.NoConnection(context.DeadlineExceeded), store.NotApplied, false},
		"no connection":                 {mysqlstore.NoConnection(syscall.ECONNREFUSED), store.NotApplied, true},
		"connection was dead before":    {driver.ErrBadConn, store.NotApplied, true},
		"connection given back":         {sql.ErrConnDone, store.NotApplied, true},
		"statement too large":           {mysql.ErrPktTooLarge, store.Permanent, false},
		"nobody there":                  {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, store.NotApplied, true},
		"deadline":                      {context.DeadlineExceeded, store.Unknown, false},
		"cancelled":                     {context.Canceled, store.Unknown, false},
		"connection ended":              {mysql.ErrInvalidConn, store.Unknown, true},
		"read or write failed":          {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, store.Unknown, true},
	}
	for _, known := range mysqlstore.KnownFailures() {
		c, listed := cases[known]
		if !listed {
			t.Errorf("%s is in no case of this test", known)
			continue
		}
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			if class, again := mysqlstore.Classify(err); class != c.class || again != c.again {
				t.Errorf("%s: got %v, again %v, want %v, again %v", known, class, again, c.class, c.again)
			}
		}
	}
	for _, err := range []error{io.ErrUnexpectedEOF, errors.New("something"), mysql.ErrMalformPkt} {
		if class, again := mysqlstore.Classify(err); class != store.Unknown || again {
			t.Errorf("%v: got %v, again %v, want unknown", err, class, again)
		}
	}
}

func closedPool(t *testing.T) error {
	db := opened(t, "root@tcp(127.0.0.1:1)/dedup")
	db.Close()
	return db.PingContext(within(t, ample))
}
