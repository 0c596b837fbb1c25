package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

func TestContract(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for i, params := range []string{
			"",
			"clientFoundRows=true&tx_isolation=%27READ-COMMITTED%27",
			"interpolateParams=true&parseTime=true&loc=Asia%2FShanghai&time_zone=%27%2B08%3A00%27&columnsWithAlias=true&multiStatements=true&charset=latin1&sql_mode=%27ANSI%2CNO_BACKSLASH_ESCAPES%27",
		} {
			t.Run("with the options "+params, func(t *testing.T) {
				t.Parallel()
				connector := connectorTo(t, address, params)
				if i > 0 {
					connector = mysqlstore.Connector(connector)
				}
				db := poolOver(t, connector)
				s := migrated(t, db, mysqlstore.Options{})
				h := hooks(db, s)
				h.Silent = func(t testing.TB) store.Store {
					hole := testserver.NewProxy(t, "127.0.0.1:1")
					hole.BlackHole(true)
					s, err := mysqlstore.New(pool(t, hole.Addr(), ""), mysqlstore.Options{})
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				storetest.Run(t, storetest.Harness{New: func(testing.TB) store.Store { return s }, Hooks: h})
			})
		}
	})
}

func TestContractBesideTheOriginal(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s, err := mysqlstore.NewJavaCompatible(db, mysqlstore.Options{Table: table(t, db), Skew: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Migrate(within(t, ample)); err != nil {
			t.Fatal(err)
		}
		h := hooks(db, s)
		h.Persist = nil // a row cannot lose an expiry, and the original's may be anything
		storetest.Run(t, storetest.Harness{New: func(testing.TB) store.Store { return s }, MaxPart: 765, Hooks: h})
	})
}

// hooks reach behind a store.
func hooks(db *sql.DB, s *mysqlstore.Store) storetest.Hooks {
	set := func(ctx context.Context, k store.Key, what string) error {
		_, err := db.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET %s WHERE %s", s.Table(), what, s.Where(k)))
		return err
	}
	return storetest.Hooks{
		Corrupt: func(ctx context.Context, _ store.Store, k store.Key) error {
			return set(ctx, k, "status = 'GARBAGE'")
		},
		Persist: func(ctx context.Context, _ store.Store, k store.Key) error {
			return set(ctx, k, "expire_time = 9223372036854775807")
		},
		HasExpiry: func(ctx context.Context, _ store.Store, k store.Key) (bool, error) {
			var n int
			err := db.QueryRowContext(ctx, fmt.Sprintf(
				"SELECT COUNT(*) FROM %s WHERE expire_time < 5000000000000 AND %s", s.Table(), s.Where(k))).Scan(&n)
			return n == 1, err
		},
	}
}
