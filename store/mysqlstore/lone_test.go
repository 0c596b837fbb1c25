package mysqlstore_test

import (
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
