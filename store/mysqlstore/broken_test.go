package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// onPrivateServers runs a test on a server of its own of each kind.
func onPrivateServers(t *testing.T, test func(t *testing.T, s *testserver.SQLServer), args ...string) {
	for name, begin := range map[string]func(testing.TB, ...string) *testserver.SQLServer{
		"MariaDB": testserver.MariaDB, "MySQL": testserver.MySQL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, begin(t, args...))
		})
	}
}

// One server suffers it all, one after the other: to start one takes longest.
func TestAServerThatBreaksLosesNothing(t *testing.T) {
	t.Parallel()
	onPrivateServers(t, func(t *testing.T, server *testserver.SQLServer) {
		t.Run("frozen", func(t *testing.T) { frozen(t, server) })
		t.Run("killed under load", func(t *testing.T) { killed(t, server) })
		t.Run("read-only, then failed over", func(t *testing.T) { failedOver(t, server) })
	})
}

func frozen(t *testing.T, server *testserver.SQLServer) {
	s := migrated(t, pool(t, server.Addr(), ""), mysqlstore.Options{})
	k, token := newKey(), store.NewToken()
	claims(t, s, request(k, token), 1)
	server.Freeze()
	const callers, patience = 30, 200 * time.Millisecond
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			err := briefly(t, patience, func(ctx context.Context) (err error) {
				switch i % 3 {
				case 0:
					_, err = s.Claim(ctx, request(newKey(), store.NewToken()))
				case 1:
					_, err = s.Complete(ctx, newKey(), store.NewToken(), time.Hour)
				default:
					err = s.ClaimBatch(ctx, requests(newKeys(3)))[2].Err
				}
				return err
			})
			if err == nil || store.ClassOf(err) == store.Permanent {
				t.Errorf("a call to a frozen server: got %v, want not applied or unknown", err)
			}
		})
	}
	all.Wait()
	server.Thaw()
	if err := s.Wait(within(t, ample)); err != nil {
		t.Errorf("wait: %v", err)
	}
	completes(t, s, k, token, time.Hour, store.Completed)
	claims(t, s, request(newKey(), store.NewToken()), 1)
}

// killed has callers compete for keys while the server is killed and started
// twice. What was acknowledged must be there, and nobody may own what another
// owns.
func killed(t *testing.T, server *testserver.SQLServer) {
	const callers, keep = 12, time.Hour
	s := migrated(t, pool(t, server.Addr(), ""), mysqlstore.Options{})
	owners := possession{t: t, held: map[store.Key]store.Token{}}
	var completed sync.Map
	var count atomic.Int64
	stop := make(chan struct{})
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				// Three callers meet on each key.
				k := store.Key{Application: "app", Topic: "t", ID: string(rune('a'+c%4)) + string(rune('0'+round))}
				token := store.NewToken()
				if insist(t, func(ctx context.Context) (store.State, error) {
					v, err := s.Claim(ctx, request(k, token))
					return v.State, err
				}) != store.Claimed {
					continue
				}
				owners.take(k, token)
				insist(t, func(ctx context.Context) (store.Completion, error) { return s.Complete(ctx, k, token, keep) })
				completed.Store(k, true)
				count.Add(1)
			}
		})
	}
	for range 2 {
		more := count.Load() + 50
		for began := time.Now(); count.Load() < more && time.Since(began) < ample; {
			claimAndComplete(s, newKey()) // under load, too; whether it fails does not matter
		}
		server.Kill()
		server.Start()
	}
	close(stop)
	all.Wait()
	for k := range completed.Range {
		answers(t, s, k.(store.Key), store.Done)
	}
	if count.Load() < 100 {
		t.Errorf("%d keys completed, want 100 at least", count.Load())
	}
}

// insist repeats a call until it is answered, as a consumer does.
func insist[A any](t *testing.T, call func(context.Context) (A, error)) A {
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		answer, err := call(ctx)
		cancel()
		if err == nil {
			return answer
		}
		if store.ClassOf(err) == store.Permanent || time.Since(began) > ample {
			t.Errorf("a call to a server that is killed: %v", err)
			return answer
		}
	}
}

// failedOver makes the server a replica. Its user is sent to another server by
// whoever watches over both, and the next calls must go there.
func failedOver(t *testing.T, server *testserver.SQLServer) {
	env := "DEDUP_TEST_" + strings.ToUpper(t.Name()[strings.Index(t.Name(), "/")+1:][:strings.Index(
		t.Name()[strings.Index(t.Name(), "/")+1:], "/")])
	heir := storetest.Server(t, env)
	old, next := pool(t, server.Addr(), ""), pool(t, heir, "")
	s := migrated(t, old, mysqlstore.Options{})
	name := strings.Trim(s.Table(), "`")
	if err := over(t, next, name).Migrate(within(t, ample)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { drop(t, next, "TABLE "+name) })
	who := "r" + store.NewToken().String()[:12]
	for _, db := range []*sql.DB{old, next} {
		executes(t, db, "CREATE USER '%s'@'127.0.0.1'", who)
		t.Cleanup(func() { executes(t, db, "DROP USER '%s'@'127.0.0.1'", who) })
		executes(t, db, "GRANT SELECT, INSERT, UPDATE, DELETE ON dedup.* TO '%s'@'127.0.0.1'", who)
	}
	var primary atomic.Value
	primary.Store(server.Addr())
	routed := routed(t, who, &primary)
	mine := over(t, routed, name)
	var all sync.WaitGroup
	for range 16 { // so that the pool has several connections
		all.Go(func() {
			if err := claimAndComplete(mine, newKey()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	executes(t, old, "SET GLOBAL read_only = 1")
	t.Cleanup(func() { executes(t, old, "SET GLOBAL read_only = 0") })
	everyStep(t, mine, store.NotApplied, "read")
	var finding *mysqlstore.Finding
	if err := mine.Check(within(t, ample)); !errors.As(err, &finding) || finding.Field != "read_only" {
		t.Errorf("check of a replica: got %v, want a finding about read_only", err)
	}
	primary.Store(heir)
	insist(t, func(ctx context.Context) (store.State, error) {
		v, err := mine.Claim(ctx, request(newKey(), store.NewToken()))
		return v.State, err
	})
	if n := number(t, next, "SELECT COUNT(*) FROM %s", name); n != 1 {
		t.Errorf("the new primary has %d records, want 1", n)
	}
}

// routed is a pool whose connections go to the server that is primary when they
// are made.
func routed(t *testing.T, user string, primary *atomic.Value) *sql.DB {
	c := mysql.NewConfig()
	c.Params = map[string]string{"innodb_lock_wait_timeout": "1"}
	c.User, c.Net, c.Addr, c.DBName = user, "tcp", "primary:3306", "dedup"
	c.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, primary.Load().(string))
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() }) // nothing is left to lose
	db.SetMaxIdleConns(4)
	return db
}

func TestAFullDiskIsNotAppliedUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	onPrivateServers(t, func(t *testing.T, server *testserver.SQLServer) {
		db := pool(t, server.Addr(), "")
		s := migrated(t, db, mysqlstore.Options{})
		// Rows that fit into a page leave the server the room that it needs to remove them.
		executes(t, db, "CREATE TABLE filler (a VARBINARY(4000)) ENGINE=InnoDB")
		for _, err := db.Exec("INSERT INTO filler VALUES (REPEAT('x', 4000))"); err == nil; {
			_, err = db.Exec("INSERT INTO filler SELECT a FROM filler LIMIT 50")
		}
		var full error
		for range 200 { // the table has some room of its own
			all := requests(newKeys(64))
			for i := range all {
				all[i].Key.Tag = strings.Repeat("x", 255)
			}
			if full = s.ClaimBatch(within(t, ample), all)[63].Err; full != nil {
				break
			}
		}
		fails(t, "claim with a full disk", full, store.NotApplied)
		if n := serverError(full); n != 1114 && n != 1021 {
			t.Errorf("claim with a full disk: got %v, want that it is full", full)
		}
		executes(t, db, "DROP TABLE filler")
		// MariaDB frees the room in the background, and does not get round to it while
		// it is asked without a pause. MySQL has no such variable and needs none.
		_, _ = db.ExecContext(within(t, ample), "SET GLOBAL innodb_max_purge_lag_wait = 0")
		insist(t, func(ctx context.Context) (store.State, error) {
			a := s.ClaimBatch(ctx, requests(newKeys(64)))[63]
			return a.Verdict.State, a.Err
		})
	}, "--innodb-data-file-path=ibdata1:12M:autoextend:max:14M", "--innodb-file-per-table=0")
}
