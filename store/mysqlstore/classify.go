package mysqlstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// notSent is the end of a context before anything was sent.
type notSent struct{ error }

// Unwrap returns the context's error.
func (e notSent) Unwrap() error { return e.error }

// noConnection is a failure to get a connection.
type noConnection struct{ error }

func (e noConnection) Unwrap() error { return e.error }

func (s *Store) noConn(err error) error {
	if pool := s.db.Stats(); pool.MaxOpenConnections > 0 && pool.InUse >= pool.MaxOpenConnections {
		err = fmt.Errorf("%w: all %d connections of the pool are in use: see SetMaxOpenConns,"+
			" and let callbacks use their transaction only", err, pool.InUse)
	}
	return noConnection{err}
}

var errBadConn = driver.ErrBadConn

// The errors of a server that this package knows by number.
const (
	erAccessDeniedDB   = 1044
	erAccessDenied     = 1045
	erSyntax           = 1064
	erNoDatabase       = 1046
	erNoTable          = 1146
	erNoVariable       = 1193
	erManyPrepared     = 1461
	erLockTableFull    = 1206
	erRecordChanged    = 1020
	erDuplicate        = 1062
	erLockWaitTimeout  = 1205
	erDeadlock         = 1213
	erReadOnly         = 1290
	erReadOnlyTx       = 1792
	erReadOnlyMode     = 1836
	erTooLong          = 1406
	erTruncated        = 1265
	erWrongValue       = 1366
	erOutOfRange       = 1264
	erOutOfRangeResult = 1690
	erPacketTooLarge   = 1153
)

// replies classifies what a server answers instead of a result. Every statement
// of this package is its own transaction: one that ended in an error was undone.
var replies = map[uint16]struct {
	class store.Class
	again bool
}{
	1040:              {store.NotApplied, true},  // too many connections
	1203:              {store.NotApplied, true},  // too many connections of one user
	1226:              {store.NotApplied, false}, // a quota of the user
	1129:              {store.NotApplied, false}, // host blocked
	1021:              {store.NotApplied, false}, // disk full
	1114:              {store.NotApplied, false}, // table full
	1180:              {store.Unknown, true},     // error during commit
	1037:              {store.NotApplied, false}, // out of memory
	1041:              {store.NotApplied, false},
	1038:              {store.NotApplied, false}, // out of sort memory
	erLockTableFull:   {store.NotApplied, true},
	erRecordChanged:   {store.NotApplied, true}, // MariaDB, with innodb_snapshot_isolation
	erLockWaitTimeout: {store.NotApplied, true}, // a claim is Busy instead
	erDeadlock:        {store.NotApplied, true},
	erReadOnly:        {store.NotApplied, true},
	erReadOnlyTx:      {store.NotApplied, true},
	erReadOnlyMode:    {store.NotApplied, true},
	1223:              {store.NotApplied, false}, // conflicting read lock
	3100:              {store.NotApplied, false}, // a replication hook refused the commit
	1047:              {store.NotApplied, true},  // a Galera node that is not ready
	1135:              {store.NotApplied, true},  // no thread for a connection
	1615:              {store.NotApplied, true},  // the table has changed: the statement must be prepared anew
	erManyPrepared:    {store.NotApplied, true},  // and the next try does without preparing
	1637:              {store.NotApplied, true},  // too many transactions
	1969:              {store.NotApplied, false}, // MariaDB: took longer than max_statement_time
	1053:              {store.Unknown, true},     // the server is shutting down
	1317:              {store.Unknown, true},     // somebody ended the statement
	1927:              {store.Unknown, true},     // MariaDB: somebody ended the connection

	erAccessDeniedDB:   {store.Permanent, false},
	erAccessDenied:     {store.Permanent, false},
	1698:               {store.Permanent, false}, // access denied without a password
	1049:               {store.Permanent, false}, // no such database
	erNoDatabase:       {store.Permanent, false},
	1054:               {store.Permanent, false}, // no such column
	erSyntax:           {store.Permanent, false},
	1142:               {store.Permanent, false}, // a right for the table is missing
	1143:               {store.Permanent, false}, // a right for a column is missing
	1227:               {store.Permanent, false}, // a right is missing
	erNoTable:          {store.Permanent, false},
	erNoVariable:       {store.Permanent, false},
	1347:               {store.Permanent, false}, // not a table
	1364:               {store.Permanent, false}, // a column without a default
	1048:               {store.Permanent, false}, // a column that cannot be NULL
	1136:               {store.Permanent, false}, // number of columns
	1292:               {store.Permanent, false}, // wrong value
	erOutOfRange:       {store.Permanent, false},
	erWrongValue:       {store.Permanent, false},
	erTooLong:          {store.Permanent, false},
	erOutOfRangeResult: {store.Permanent, false},
	erPacketTooLarge:   {store.Permanent, false},
	1062:               {store.Permanent, false}, // another unique key
	1820:               {store.Permanent, false}, // the password has expired
	1862:               {store.Permanent, false},
	1524:               {store.Permanent, false}, // unknown authentication plugin
	1251:               {store.Permanent, false},
	1130:               {store.Permanent, false}, // the host may not connect
	1060:               {store.Permanent, false}, // a migration: such a column exists
	1061:               {store.Permanent, false}, // such a key exists
	1071:               {store.Permanent, false}, // the key would be too long
	1075:               {store.Permanent, false}, // a counter without a key
	1091:               {store.Permanent, false}, // nothing to drop
	1118:               {store.Permanent, false}, // the row would be too long
	1138:               {store.Permanent, false}, // a NULL is in the way
	erTruncated:        {store.Permanent, false}, // a value is in the way
}

// failures classifies errors that are no answer of a server. The first row that
// fits counts.
var failures = []struct {
	what  string
	is    func(error) bool
	class store.Class
	again bool
}{
	{"context ended before the call", as[notSent], store.NotApplied, false},
	{"record vanished", is(errVanished), store.NotApplied, true},
	{"read back failed", as[applied], store.Unknown, true},
	{"certificate refused", as[*tls.CertificateVerificationError], store.Permanent, false},
	{"unknown authority", as[x509.UnknownAuthorityError], store.Permanent, false},
	{"server speaks no TLS", as[tls.RecordHeaderError], store.Permanent, false},
	{"server has no TLS", is(mysql.ErrNoTLS), store.Permanent, false},
	{"pool closed", closed, store.Permanent, false},
	{"no connection, time over", func(err error) bool {
		return as[noConnection](err) && (is(context.DeadlineExceeded)(err) || is(context.Canceled)(err))
	}, store.NotApplied, false},
	{"no connection", as[noConnection], store.NotApplied, true},
	{"nobody there", dialing, store.NotApplied, true},
	{"connection was dead before", is(driver.ErrBadConn), store.NotApplied, true},
	{"connection given back", is(sql.ErrConnDone), store.NotApplied, true},
	{"statement too large", is(mysql.ErrPktTooLarge), store.Permanent, false},
	{"deadline", is(context.DeadlineExceeded), store.Unknown, false},
	{"cancelled", is(context.Canceled), store.Unknown, false},
	{"connection ended", is(mysql.ErrInvalidConn), store.Unknown, true},
	{"read or write failed", as[net.Error], store.Unknown, true},
}

// classify tells what a failed try may have done, and whether trying again at
// once is worth it. What it does not know is Unknown.
func classify(err error) (class store.Class, again bool) {
	if as[applied](err) {
		return store.Unknown, true
	}
	var answered *mysql.MySQLError
	if errors.As(err, &answered) {
		r, known := replies[answered.Number]
		if !known {
			return store.Unknown, false
		}
		return r.class, r.again
	}
	for _, f := range failures {
		if f.is(err) {
			return f.class, f.again
		}
	}
	return store.Unknown, false
}

// cause is the error to show. A server's text may repeat what was sent, such as
// the ID of a key: its number and SQLSTATE say as much to whoever must act.
func cause(err, earlier error) error {
	shown := redacted(err)
	if in := (inStatement{}); errors.As(err, &in) {
		shown = fmt.Errorf("%w, in: %s", shown, in.statement)
	}
	if earlier != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return fmt.Errorf("%w, after: %v", shown, redacted(earlier))
	}
	return shown
}

// reply is a server's error without the values that its text may repeat.
type reply struct {
	*mysql.MySQLError
	text string
}

// Error names the error's number and meaning.
func (r reply) Error() string { return r.text }

// Unwrap returns the server's error, text and all.
func (r reply) Unwrap() error { return r.MySQLError }

func redacted(err error) error {
	var answered *mysql.MySQLError
	if !errors.As(err, &answered) {
		return err
	}
	return reply{answered, fmt.Sprintf("error %d (%s): %s", answered.Number, answered.SQLState, meaning(answered))}
}

func number(err error) uint16 {
	var answered *mysql.MySQLError
	if errors.As(err, &answered) {
		return answered.Number
	}
	return 0
}

func deadlock(err error) bool    { return number(err) == erDeadlock }
func lockTimeout(err error) bool { return number(err) == erLockWaitTimeout }

// undoes reports whether after such an error the transaction is undone, or may be,
// or a part of it that nobody can name. What comes then would be by itself.
func undoes(err error) bool {
	switch number(err) {
	case erDeadlock, erLockWaitTimeout, erLockTableFull, erRecordChanged:
		return true
	}
	return false
}

// readOnly reports whether the server has become a replica, or is one.
func readOnly(err error) bool {
	n := number(err)
	return n == erReadOnly || n == erReadOnlyTx || n == erReadOnlyMode
}

// ofOneRow reports whether one row of several may be to blame.
func ofOneRow(err error) bool {
	switch number(err) {
	case erTooLong, erWrongValue, erOutOfRange, erOutOfRangeResult, erPacketTooLarge, 1062, 1292:
		return true
	}
	return errors.Is(err, mysql.ErrPktTooLarge)
}

// closed reports whether the caller has closed the pool: package sql has no
// name for that error.
func closed(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err.Error() == "sql: database is closed" {
			return true
		}
	}
	return false
}

// dialing reports whether a connection could not even be made.
func dialing(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// meaning is what a server's error says without the values in quotes, which it
// repeats from the statement.
func meaning(e *mysql.MySQLError) string {
	if _, known := replies[e.Number]; !known || ofOneRow(e) || e.Number == erSyntax {
		return "see the server's list of errors"
	}
	if remedy := remedies[e.Number]; remedy != "" {
		return e.Message + ": " + remedy
	}
	return e.Message
}

// remedies are what to do about errors that everybody meets who has left out a
// step.
var remedies = map[uint16]string{
	erNoTable:    "call Migrate, or run the statement of Schema",
	erNoDatabase: "name a database after the / in the DSN",
	erNoVariable: "the DSN has a parameter that is no variable of this server",
}
