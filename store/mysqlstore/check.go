package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Finding is one thing about a server, its table or its pool that endangers the
// contract. It is an error, so that findings can be joined.
type Finding struct {
	Field   string // the setting, as its own documentation calls it, or the table
	Problem string
	Remedy  string
}

// Error names field, problem and remedy.
func (f *Finding) Error() string {
	return fmt.Sprintf("mysqlstore: %s: %s; %s", f.Field, f.Problem, f.Remedy)
}

// maxLockWait is how long, in seconds, a statement may wait for a row that
// somebody else keeps locked.
const maxLockWait = 5

// Check looks at the settings of a connection and at the table, and takes a
// scratch record through every statement. It returns nil, or all findings as
// [*Finding], and errors that kept it from looking, joined. It touches no record
// of the application.
func (s *Store) Check(ctx context.Context) error {
	settings, table, err := s.look(ctx)
	if err != nil {
		return errors.Join(settings, s.failed("check", err))
	}
	if table != nil {
		return errors.Join(settings, table)
	}
	return errors.Join(settings, s.tryStatements(ctx))
}

// look has a connection for itself, and gives it back to the pool: the
// statements that Check tries next need one, and there may be no other.
func (s *Store) look(ctx context.Context) (settings, table, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, nil, s.noConn(err)
	}
	defer conn.Close() // gives it back to the pool
	if settings, err = s.checkSettings(ctx, conn); err != nil {
		return nil, nil, err
	}
	table, err = s.checkTable(ctx, conn)
	return settings, table, err
}

func (s *Store) checkSettings(ctx context.Context, conn *sql.Conn) (findings, err error) {
	var database sql.NullString
	var autocommit bool
	var wait int
	err = conn.QueryRowContext(ctx, "SELECT DATABASE(), @@autocommit, @@innodb_lock_wait_timeout").
		Scan(&database, &autocommit, &wait)
	if err != nil {
		return nil, err
	}
	var errs []error
	if !database.Valid {
		errs = append(errs, &Finding{"DSN", "it names no database", "add /database after the address"})
	}
	if !autocommit {
		errs = append(errs, &Finding{"autocommit", "it is off, so no record would ever be committed",
			"add autocommit=1 to the DSN, or remove what turns it off"})
	}
	if wait > maxLockWait {
		errs = append(errs, &Finding{"innodb_lock_wait_timeout",
			fmt.Sprintf("%d s, so that a call would give up long before the server, which may still apply it then", wait),
			"add innodb_lock_wait_timeout=1 to the DSN of this pool"})
	}
	isolation, err := checkIsolation(ctx, conn)
	return errors.Join(errors.Join(errs...), isolation), err
}

// checkIsolation finds fault with the one level that shows what is not committed.
// The servers have two names for it, some of them both.
func checkIsolation(ctx context.Context, conn *sql.Conn) (finding, err error) {
	var name, level string
	err = conn.QueryRowContext(ctx,
		"SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')").Scan(&name, &level)
	if err != nil || level != "READ-UNCOMMITTED" {
		return nil, err
	}
	return &Finding{name, level + ": whoever asks for a record would be told of transactions that are not committed," +
		" and may never be", "set it to READ-COMMITTED, or remove what sets it"}, nil
}

// checkTable compares the live table with the one that it should be.
func (s *Store) checkTable(ctx context.Context, conn *sql.Conn) (findings, err error) {
	live, err := s.inspect(ctx, conn)
	if err != nil {
		return nil, err
	}
	field := "table " + s.options.Table
	if live != nil && live.view {
		return &Finding{field, "it is a view", "drop it and call Migrate, or choose another Options.Table"}, nil
	}
	obstacles := s.inTheWay(live)
	if obstacles != nil && s.compat() {
		return obstacles, nil // it may be another program's
	}
	var errs []error
	for _, statement := range s.mend(live) {
		errs = append(errs, &Finding{field, live.problem(s.layout), "call Migrate, or run: " + statement})
	}
	return errors.Join(errors.Join(errs...), obstacles), nil
}

// tryStatements takes scratch records through their lives, alone and together:
// this package depends on what servers say of single assignments.
func (s *Store) tryStatements(ctx context.Context) error {
	k := store.Key{Application: "dedup-check", Topic: "check", ID: store.NewToken().String()}
	a, b := store.NewToken(), store.NewToken()
	claim := func(t store.Token) func() (string, error) {
		return func() (string, error) {
			c := &call{}
			err := s.claimOf(c, &store.ClaimRequest{Key: k, Token: t, Lease: time.Minute, Horizon: time.Minute})
			if err != nil {
				return "", err
			}
			s.doAll(ctx, []*call{c})
			return fmt.Sprintf("%v %d", c.verdict.State, c.verdict.Attempt), c.failure()
		}
	}
	together := func(t store.Token) func() (string, error) {
		return func() (string, error) {
			other := k
			other.ID += "+"
			r := store.ClaimRequest{Key: k, Token: t, Lease: time.Minute, Horizon: time.Minute}
			more := r
			more.Key = other
			answers := s.ClaimBatch(ctx, []store.ClaimRequest{r, more})
			s.SettleBatch(ctx, []store.Settlement{{Claim: store.Claim{Key: other, Token: t}, Keep: time.Millisecond}})
			return fmt.Sprintf("%v %d", answers[0].Verdict.State, answers[0].Verdict.Attempt), answers[0].Err
		}
	}
	done := func(err error) (string, error) { return "", err }
	for _, step := range []struct {
		op   string
		do   func() (string, error)
		want string
	}{
		{"claim", claim(a), "claimed 1"},
		{"the same claim again", claim(a), "claimed 1"},
		{"claim of another", claim(b), "busy 0"},
		{"claim of another, with more", together(b), "busy 0"},
		{"renew", func() (string, error) { return done(s.Renew(ctx, []store.Claim{{Key: k, Token: a}})[0]) }, ""},
		{"release", func() (string, error) { return done(s.Release(ctx, k, a, true)) }, ""},
		{"claim of a released key", together(b), "claimed 2"},
		{"complete", func() (string, error) {
			c, err := s.Complete(ctx, k, b, time.Minute)
			return c.String(), err
		}, "completed"},
		{"claim of a done key", claim(a), "done 0"},
		{"forget", func() (string, error) { return done(s.Forget(ctx, k)) }, ""},
	} {
		got, err := step.do()
		if readOnly(err) {
			return &Finding{"read_only", "the server takes no writes: it is a replica",
				"have the pool connect to the primary"}
		}
		if err != nil {
			return err
		}
		if got != step.want {
			return &Finding{"server", fmt.Sprintf("%s answered %q on a scratch record, want %q", step.op, got, step.want),
				"use MySQL 5.6 or later, MariaDB 10 or later, or a server that assigns in the order of the statement"}
		}
	}
	return nil
}
