package mysqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// ample is time enough for anything that does not hang.
const ample = time.Minute

// onServers runs a test on every server that the store is for.
func onServers(t *testing.T, test func(t *testing.T, address string)) {
	for _, server := range []struct{ name, env string }{
		{"MariaDB", "DEDUP_TEST_MARIADB"}, {"MySQL", "DEDUP_TEST_MYSQL"},
	} {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			test(t, storetest.Server(t, server.env))
		})
	}
}

// pool connects to a server. params are of the driver's DSN.
func pool(t testing.TB, address, params string) *sql.DB {
	t.Helper()
	return poolOver(t, connectorTo(t, address, params))
}

func poolOver(t testing.TB, connector driver.Connector) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	t.Cleanup(func() { _ = db.Close() }) // nothing is left to lose
	return db
}

func connectorTo(t testing.TB, address, params string) driver.Connector {
	t.Helper()
	if params != "" {
		params = "&" + params
	}
	o, err := mysql.ParseDSN("root@tcp(" + address + ")/dedup?innodb_lock_wait_timeout=1" + params)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(o)
	if err != nil {
		t.Fatal(err)
	}
	return connector
}

// table is a name that no other test uses, for a table that is dropped when the
// test ends.
func table(t testing.TB, db *sql.DB) string {
	name := "test_" + store.NewToken().String()
	t.Cleanup(func() {
		drop(t, db, "TABLE IF EXISTS "+name)
	})
	return name
}

// drop removes something, and waits for others that do so: servers keep
// statistics of tables in tables. The second that the pool's connections wait for
// a lock is not enough for that on a busy machine.
func drop(t testing.TB, db *sql.DB, what string) {
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Raw(func(any) error { return driver.ErrBadConn }) // nobody else is to wait that long
	for _, statement := range []string{"SET SESSION innodb_lock_wait_timeout = 50", "DROP " + what} {
		if _, err := conn.ExecContext(context.Background(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// migrated is a store over a table of its own.
func migrated(t testing.TB, db *sql.DB, o mysqlstore.Options) *mysqlstore.Store {
	t.Helper()
	o.Table = table(t, db)
	s, err := mysqlstore.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(within(t, ample)); err != nil {
		t.Fatal(err)
	}
	return s
}

// within is a context for one call.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
