package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// password must never be seen in an error.
const password = "s3cr3t-pa55word"

// user makes a user who has the rights for a table, until the test ends, and
// returns a pool of his.
func user(t *testing.T, root *sql.DB, address, rights, on string) *sql.DB {
	t.Helper()
	name := "u" + store.NewToken().String()[:12]
	executes(t, root, "CREATE USER '%s'@'127.0.0.1' IDENTIFIED BY '%s'", name, password)
	t.Cleanup(func() { executes(t, root, "DROP USER '%s'@'127.0.0.1'", name) })
	executes(t, root, "GRANT %s ON %s TO '%s'@'127.0.0.1'", rights, on, name)
	return opened(t, name+":"+password+"@tcp("+address+")/dedup?innodb_lock_wait_timeout=1")
}

func opened(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is left to lose
	return db
}

// over is a store over db for a table that is there already, or is not.
func over(t testing.TB, db *sql.DB, table string) *mysqlstore.Store {
	t.Helper()
	s, err := mysqlstore.New(db, mysqlstore.Options{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAUserWithoutRightsIsTold(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		root := pool(t, address, "")
		owner := migrated(t, root, mysqlstore.Options{})
		name := strings.Trim(owner.Table(), "`")
		s := over(t, user(t, root, address, "SELECT", "dedup."+name), name)

		everyStep(t, s, store.Permanent, "INSERT command denied", "UPDATE command denied")
		err := s.Check(within(t, ample))
		fails(t, "check", err, store.Permanent)
		if !strings.Contains(err.Error(), "INSERT, UPDATE command denied to user") {
			t.Errorf("check: got %v, want it to name the right that is missing", err)
		}
		missing := over(t, user(t, root, address, "SELECT, INSERT, UPDATE, DELETE", "dedup.*"), table(t, root))
		fails(t, "migrate without CREATE", missing.Migrate(within(t, ample)), store.Permanent)
		minimal := over(t, user(t, root, address, "SELECT, INSERT, UPDATE, DELETE", "dedup."+name), name)
		if err := minimal.Check(within(t, ample)); err != nil {
			t.Errorf("check with the rights that the documentation asks for: %v", err)
		}
		pulsed(t, minimal, store.Pulse{Application: "billing", Node: store.NewToken(), Number: 1})
		if _, err := minimal.Sweep(within(t, ample), 10); err != nil {
			t.Errorf("sweep with the rights that the documentation asks for: %v", err)
		}
		if err := minimal.Migrate(within(t, ample)); err != nil {
			t.Errorf("migrate of a table that is as it should be, without rights for it: %v", err)
		}
	})
}

// everyStep wants every call to fail with a class, in words that the error has.
func everyStep(t *testing.T, s *mysqlstore.Store, class store.Class, words ...string) {
	t.Helper()
	k, token := newKey(), store.NewToken()
	_, claim := s.Claim(within(t, ample), request(k, token))
	_, complete := s.Complete(within(t, ample), k, token, time.Hour)
	_, fence := s.Fence(within(t, ample), k, token)
	for what, err := range map[string]error{
		"claim": claim, "complete": complete, "fence": fence,
		"release":             s.Release(within(t, ample), k, token, true),
		"park":                s.Park(within(t, ample), k, token, time.Hour),
		"renew":               s.Renew(within(t, ample), []store.Claim{{Key: k, Token: token}})[0],
		"claim of a batch":    s.ClaimBatch(within(t, ample), requests(newKeys(3)))[2].Err,
		"release of a batch":  s.SettleBatch(within(t, ample), settlements(requests(newKeys(4))))[3].Err,
		"complete of a batch": s.SettleBatch(within(t, ample), settlements(requests(newKeys(4))))[2].Err,
	} {
		fails(t, what, err, class)
		said := len(words) == 0
		for _, w := range words {
			said = said || strings.Contains(err.Error(), w)
		}
		if !said || strings.Contains(err.Error(), password) {
			t.Errorf("%s: got %v, want it to say one of %q", what, err, words)
		}
	}
}

func TestAServerThatRefusesTheStoreIsPermanent(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		root := pool(t, address, "")
		name := strings.Trim(migrated(t, root, mysqlstore.Options{}).Table(), "`")
		closed := pool(t, address, "")
		closed.Close()
		for what, c := range map[string]struct {
			db    *sql.DB
			table string
			words string
		}{
			"wrong password":   {opened(t, "root:"+password+"@tcp("+address+")/dedup"), name, "Access denied"},
			"unknown database": {opened(t, "root@tcp("+address+")/no_such_database"), name, "no_such_database"},
			"no database":      {opened(t, "root@tcp("+address+")/"), name, "No database selected"},
			"no table":         {root, "no_such_table", "no_such_table"},
			"server needs TLS": {opened(t, "root@tcp("+address+")/dedup?tls=true"), name, "TLS"},
			"closed pool":      {closed, name, "database is closed"},
		} {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				s := over(t, c.db, c.table)
				everyStep(t, s, store.Permanent, c.words)
				if what != "no table" {
					fails(t, "migrate", s.Migrate(within(t, ample)), store.Permanent)
				}
				err := s.Check(within(t, ample))
				if err == nil || strings.Contains(err.Error(), password) {
					t.Errorf("check: got %v, want an error", err)
				}
			})
		}
	})
}

func TestNobodyThereIsNotApplied(t *testing.T) {
	t.Parallel()
	s := over(t, opened(t, "root:"+password+"@tcp(127.0.0.1:1)/dedup"), "dedup_record")
	everyStep(t, s, store.NotApplied, "connection refused")
}

func TestAPoolOfOneConnectionWorks(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		db.SetMaxOpenConns(1)
		s := migrated(t, db, mysqlstore.Options{})
		if err := s.Check(within(t, ample)); err != nil {
			t.Fatalf("check: %v", err)
		}
		errs := make(chan error)
		const callers = 20
		for range callers {
			go func() { errs <- claimAndComplete(s, newKey()) }()
		}
		for range callers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		k := newKey()
		claims(t, s, request(k, store.NewToken()), 1)
		executes(t, db, "UPDATE %s SET expire_time = 1", s.Table())
		if n, err := s.Sweep(within(t, ample), 1000); err != nil || n == 0 {
			t.Errorf("sweep: got %d, %v, want more than 0", n, err)
		}
		if err := s.Forget(within(t, ample), k); !errors.Is(err, store.ErrNoRecord) {
			t.Errorf("forget: got %v, want %v", err, store.ErrNoRecord)
		}
	})
}

// claimAndComplete takes a key through its life.
func claimAndComplete(s *mysqlstore.Store, k store.Key) error {
	ctx, cancel := context.WithTimeout(context.Background(), ample)
	defer cancel()
	token := store.NewToken()
	if v, err := s.Claim(ctx, request(k, token)); err != nil || v.State != store.Claimed {
		return errors.Join(err, errors.New("claim: got "+v.State.String()+", want claimed"))
	}
	if c, err := s.Complete(ctx, k, token, time.Hour); err != nil || c != store.Completed {
		return errors.Join(err, errors.New("complete: got "+c.String()+", want completed"))
	}
	return nil
}

// serverError is the error of the server that err wraps.
func serverError(err error) (number uint16) {
	var answered *mysql.MySQLError
	if errors.As(err, &answered) {
		return answered.Number
	}
	return 0
}
