package reconcile_test

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver of the pools

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

func TestKeysOfKilledConsumersComeToTheirEndInMySQL(t *testing.T) {
	for name, on := range map[string]struct {
		env  string
		open func(*sql.DB, mysqlstore.Options) (*mysqlstore.Store, error)
	}{
		"MariaDB":                        {"DEDUP_TEST_MARIADB", mysqlstore.New},
		"MySQL":                          {"DEDUP_TEST_MYSQL", mysqlstore.New},
		"a table of the Java original's": {"DEDUP_TEST_MYSQL", mysqlstore.NewJavaCompatible},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pool(t, storetest.Server(t, on.env))
			table := "test_" + store.NewToken().String()
			t.Cleanup(func() {
				if _, err := db.ExecContext(context.Background(), "DROP TABLE IF EXISTS "+table); err != nil {
					t.Error(err)
				}
			})
			s, err := on.open(db, mysqlstore.Options{Table: table})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			killed(t, s)
		})
	}
}

func pool(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+address+")/dedup")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	t.Cleanup(func() { _ = db.Close() }) // nothing is left to lose
	return db
}
