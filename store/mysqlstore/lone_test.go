package mysqlstore_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// A server has only so many prepared statements, for all its users together, and
// what is between it and its clients may have none.
func TestAServerThatPreparesNoStatementsExecutesThem(t *testing.T) {
	t.Parallel()
	onPrivateServers(t, func(t *testing.T, server *testserver.SQLServer) {
		db := pool(t, server.Addr(), "")
		s := migrated(t, db, mysqlstore.Options{})
		works := func() {
			t.Helper()
			k, token := newKey(), store.NewToken()
			claims(t, s, request(k, token), 1)
			completes(t, s, k, token, time.Hour, store.Completed)
			r := store.TxRequest{Key: newKey(), Token: store.NewToken(), Keep: time.Hour}
			for _, want := range []store.State{store.Claimed, store.Done} {
				v, err := s.Transact(within(t, ample), r, func(context.Context, *sql.Tx, int) error { return nil })
				if err != nil || v.State != want {
					t.Fatalf("transact: got %+v, %v, want %v", v, err, want)
				}
			}
			late := store.TxRequest{Key: newKey(), Token: store.NewToken(), Keep: time.Hour}
			claims(t, s, request(late.Key, late.Token), 1)
			if err := s.Release(within(t, ample), late.Key, late.Token, true); err != nil {
				t.Fatal(err)
			}
			late.Token = store.NewToken()
			v, err := s.Transact(within(t, ample), late, func(context.Context, *sql.Tx, int) error { return nil })
			if err != nil || v.State != store.Claimed || v.Attempt != 2 {
				t.Fatalf("transact after a release: got %+v, %v, want attempt 2", v, err)
			}
		}
		works()
		if number(t, db, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "+
			"WHERE VARIABLE_NAME = 'Prepared_stmt_count'") == 0 {
			t.Fatal("nothing is prepared, so this test shows nothing")
		}
		executes(t, db, "SET GLOBAL max_prepared_stmt_count = 0")
		db.SetMaxIdleConns(-1) // so that no connection has them any more
		db.SetMaxIdleConns(16)
		works()
	})
}
