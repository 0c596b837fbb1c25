package listener_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// ableStore is a store with all that a guard makes use of.
type ableStore interface {
	store.Store
	store.Renewer
	store.Batcher
	store.Parker
	store.Fencer
}

// openRecords returns the store of a consumer at p.
func (p place) openRecords() (ableStore, error) {
	if p.MySQL != "" {
		records, _, err := p.openMySQL()
		return records, err
	}
	records, _, err := p.openRedis()
	return records, err
}

// openRedis returns a store and its client, which leaves all repeats to the
// engine.
func (p place) openRedis() (*redisstore.Store, *redis.Client, error) {
	client := redis.NewClient(&redis.Options{
		Addr: p.Redis, ContextTimeoutEnabled: true, MaxRetries: -1,
		ReadTimeout: 900 * time.Millisecond, DialTimeout: time.Second,
	})
	records, err := redisstore.New(client, redisstore.Options{Prefix: p.Prefix, MinLease: lease})
	return records, client, err
}

// openMySQL returns a store and its pool, as the package tells users to make it.
func (p place) openMySQL() (*mysqlstore.Store, *sql.DB, error) {
	o, err := mysql.ParseDSN("root@tcp(" + p.MySQL +
		")/dedup?innodb_lock_wait_timeout=1&timeout=5s&readTimeout=5s&writeTimeout=5s")
	if err != nil {
		return nil, nil, err
	}
	connector, err := mysql.NewConnector(o)
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(mysqlstore.Connector(connector))
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	records, err := mysqlstore.New(db, mysqlstore.Options{})
	return records, db, err
}

// keepRecordsIn has the members that join from now on use the Redis at addr,
// and returns a client of it.
func (s *scene) keepRecordsIn(addr string) *redis.Client {
	s.t.Helper()
	s.Redis, s.MySQL = addr, ""
	records, client, err := s.openRedis()
	if err != nil {
		s.t.Fatal(err)
	}
	s.records = records
	s.t.Cleanup(func() {
		defer client.Close()
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			var names []string
			names, cursor = client.Scan(context.Background(), cursor, s.Prefix+"*", 1000).Val()
			if len(names) > 0 {
				client.Del(context.Background(), names...)
			}
		}
	})
	return client
}

// keepRecordsInMySQL has the members that join from now on use the server at
// addr, which is private to the test: nothing is tidied up.
func (s *scene) keepRecordsInMySQL(addr string) {
	s.t.Helper()
	s.MySQL = addr
	records, db, err := s.openMySQL()
	if err == nil {
		s.t.Cleanup(func() { _ = db.Close() }) // nothing is left to lose
		err = records.Migrate(s.t.Context())
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.records = records
}

// breakable is a private server of records. What it has acknowledged is there
// after every Restart.
type breakable interface {
	Addr() string
	Kill()    // has no effect on one that is killed
	Restart() // kills it first if it runs
	Pause()
	Resume()
}

// breakables are the kinds of such servers: how to start one, and how to keep a
// scene's records in one.
var breakables = map[string]struct {
	start func(testing.TB) breakable
	keep  func(s *scene, addr string)
}{
	"Redis": {
		func(t testing.TB) breakable {
			return testserver.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
		},
		func(s *scene, addr string) { s.keepRecordsIn(addr) },
	},
	"MySQL": {
		func(t testing.TB) breakable {
			return breakableSQL{testserver.MariaDB(t, "--innodb-flush-log-at-trx-commit=1")}
		},
		(*scene).keepRecordsInMySQL,
	},
}

type breakableSQL struct{ *testserver.SQLServer }

func (b breakableSQL) Restart() { b.Kill(); b.Start() }
func (b breakableSQL) Pause()   { b.Freeze() }
func (b breakableSQL) Resume()  { b.Thaw() }
