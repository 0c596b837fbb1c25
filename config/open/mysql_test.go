package open_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// atMySQL is a configuration with a table of its own, which it makes.
func atMySQL(t *testing.T, address string) config.Config {
	t.Helper()
	c := configured()
	c.Store.Type = "mysql"
	m := &c.Store.MySQL
	m.Address, m.Database, m.Username, m.Migrate = address, "dedup", "root", true
	m.Table = "open_" + store.NewToken().String()
	return c
}

// tables is a pool to look at the tables of c with. It drops them at the end.
func tables(t *testing.T, c config.Config) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+c.Store.MySQL.Address+")/dedup")
	must(t, err)
	t.Cleanup(func() {
		if _, err := db.Exec("DROP TABLE IF EXISTS " + c.Store.MySQL.Table); err != nil {
			t.Error(err)
		}
		must(t, db.Close())
	})
	return db
}

func onSQLServers(t *testing.T, test func(t *testing.T, c config.Config)) {
	for name, env := range map[string]string{"MariaDB": "DEDUP_TEST_MARIADB", "MySQL": "DEDUP_TEST_MYSQL"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, atMySQL(t, storetest.Server(t, env)))
		})
	}
}

func TestADatabaseIsMadeReadyIfTheConfigurationSaysSo(t *testing.T) {
	t.Parallel()
	onSQLServers(t, func(t *testing.T, c config.Config) {
		tables(t, c)
		c.Store.MySQL.Migrate = false
		fails(t, c, "store.mysql.migrate")
		_, _, err := open.Store(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), "run: CREATE TABLE") {
			t.Errorf("got %v, want the statement that makes the table", err)
		}
		c.Store.MySQL.Migrate = true
		works(t, c)
		c.Store.MySQL.Migrate = false
		works(t, c)
		c.Store.MySQL.DSN = config.Secret("root@tcp(" + c.Store.MySQL.Address + ")/dedup")
		c.Store.MySQL.Address, c.Store.MySQL.Database, c.Store.MySQL.Username = "", "", ""
		works(t, c)
	})
}

func TestEveryStatementThatMendsATableIsTold(t *testing.T) {
	t.Parallel()
	onSQLServers(t, func(t *testing.T, c config.Config) {
		db := tables(t, c)
		c.Store.MySQL.Migrate, c.Store.MySQL.JavaCompatible = false, true
		_, err := db.Exec("CREATE TABLE " + c.Store.MySQL.Table + ` (
			application_name VARCHAR(255) NOT NULL, topic VARCHAR(255) NOT NULL, tag VARCHAR(255) NOT NULL,
			msg_uniq_key VARCHAR(255) NOT NULL, status VARCHAR(16) NOT NULL, expire_time BIGINT NOT NULL,
			UNIQUE KEY uniq_key (application_name, topic, tag, msg_uniq_key)
		) CHARSET=latin1`)
		must(t, err)
		_, _, err = open.Store(t.Context(), c)
		if err == nil || strings.Count(err.Error(), "store.mysql.migrate: ") != 2 || strings.Count(err.Error(), "ALTER") != 2 {
			t.Errorf("got %v, want both statements", err)
		}
		_, err = db.Exec("ALTER TABLE " + c.Store.MySQL.Table + " ADD UNIQUE KEY tag_key (tag)")
		must(t, err)
		_, _, err = open.Store(t.Context(), c)
		if err == nil || !strings.HasPrefix(err.Error(), "store.mysql.table: ") {
			t.Errorf("got %v, want the table named", err)
		}
	})
}

func TestRecordsOfTheJavaOriginalAreInItsTable(t *testing.T) {
	t.Parallel()
	onSQLServers(t, func(t *testing.T, c config.Config) {
		db := tables(t, c)
		c.Store.MySQL.JavaCompatible = true
		works(t, c)
		var status string
		must(t, db.QueryRow("SELECT status FROM "+c.Store.MySQL.Table+" WHERE application_name = 'app'").Scan(&status))
		if status != "CONSUMED" {
			t.Errorf("got the status %q, want CONSUMED", status)
		}
	})
}

func TestExpiredRecordsAreSweptUntilTheStoreIsClosed(t *testing.T) {
	t.Parallel()
	onSQLServers(t, func(t *testing.T, c config.Config) {
		db := tables(t, c)
		rows := func() (n int) {
			must(t, db.QueryRow("SELECT COUNT(*) FROM "+c.Store.MySQL.Table+" WHERE id = 'expired'").Scan(&n))
			return n
		}
		c.Store.Sweep.Enabled = false
		leaveExpired(t, c)
		if n := rows(); n != 1 {
			t.Fatalf("without a sweep: got %d rows, want 1", n)
		}
		c.Store.Sweep = config.Sweep{Enabled: true, Every: 10 * time.Millisecond, Batch: 10, Share: 1}
		s, closeStore, err := open.Store(t.Context(), c)
		must(t, err)
		for began := time.Now(); rows() > 0 && time.Since(began) < ample; {
			time.Sleep(5 * time.Millisecond)
		}
		if n := rows(); n != 0 {
			t.Errorf("got %d rows, want the expired one swept", n)
		}
		must(t, closeStore())
		if _, err := s.(store.Sweeper).Sweep(t.Context(), 1); err == nil {
			t.Error("the closed store still sweeps")
		}
	})
}

// leaveExpired leaves one record that has expired.
func leaveExpired(t *testing.T, c config.Config) {
	t.Helper()
	s, closeStore, err := open.Store(t.Context(), c)
	must(t, err)
	k := store.Key{Application: "app", Topic: "orders", ID: "expired"}
	_, err = s.Complete(t.Context(), k, store.NewToken(), time.Millisecond)
	must(t, err)
	must(t, closeStore())
}

func TestAConsumerWithItsRecordsInADatabase(t *testing.T) {
	t.Parallel()
	onSQLServers(t, func(t *testing.T, c config.Config) {
		db := tables(t, c)
		b := rmqtest.Start(t, rmqtest.Options{})
		c.RocketMQ.NameServers, c.RocketMQ.DelayLevels = []string{b.NameServer()}, b.DelayLevels()
		c.RocketMQ.Group = "open-" + store.NewToken().String()[:12]
		c.RocketMQ.ConsumeMessageBatchMaxSize = 1
		c.Defaults.Lease = 2 * time.Second
		produce(t, c, [][3]string{
			{"orders", "paid", "A1"}, {"orders", "paid", "A1"}, {"orders", "paid", "fails"}, {"orders", "paid", "A2"},
		})
		got := consumed(t, c, 4)
		if got["orders A1"] != 1 || got["orders A2"] != 1 || got["orders fails"] != 2 || len(got) != 3 {
			t.Errorf("runs: got %v, want A1 and A2 once, fails twice", got)
		}
		var done int
		must(t, db.QueryRow("SELECT COUNT(*) FROM "+c.Store.MySQL.Table+" WHERE status = 'CONSUMED'").Scan(&done))
		if done != 3 {
			t.Errorf("got %d done records, want 3", done)
		}
	})
}

func TestDatabasesThatDoNotFit(t *testing.T) {
	t.Parallel()
	server := testserver.MariaDB(t)
	server.Exec("CREATE USER dedup IDENTIFIED BY '" + secret + "'; GRANT SELECT ON dedup.* TO dedup;")
	for _, row := range []struct {
		name, setting string
		change        func(*config.MySQL)
	}{
		{"a wrong password", "store.mysql.password", func(m *config.MySQL) { m.Username, m.Password = "dedup", secret+"!" }},
		{"no password", "store.mysql.password", func(m *config.MySQL) { m.Username = "dedup" }},
		{"an unknown user", "store.mysql.password", func(m *config.MySQL) { m.Username, m.Password = "nobody", secret }},
		{"a user without rights", "store.mysql.username", func(m *config.MySQL) { m.Username, m.Password = "dedup", secret }},
		{"no such database", "store.mysql.database", func(m *config.MySQL) { m.Database = "nowhere" }},
		{"nobody there", "store.mysql.address", func(m *config.MySQL) { m.Address = "127.0.0.1:1" }},
		{"no such host", "store.mysql.address", func(m *config.MySQL) { m.Address = "no-such-host.invalid:3306" }},
		{"no TLS", "store.mysql.tls.enabled", func(m *config.MySQL) { m.TLS.Enabled = true }},
		{"a DSN with a wrong password", "store.mysql.dsn", func(m *config.MySQL) {
			*m = withDSN(*m, "dedup:"+secret+"!@tcp("+m.Address+")/dedup")
		}},
		{"a DSN that turns autocommit off", "store.mysql.dsn", func(m *config.MySQL) {
			*m = withDSN(*m, "root@tcp("+m.Address+")/dedup?autocommit=0")
		}},
		{"a DSN with an unknown parameter", "store.mysql.dsn", func(m *config.MySQL) {
			*m = withDSN(*m, "root@tcp("+m.Address+")/dedup?no_such_variable=1")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := atMySQL(t, server.Addr())
			row.change(&c.Store.MySQL)
			fails(t, c, row.setting)
		})
	}
	t.Run("silent", func(t *testing.T) {
		proxy := testserver.NewProxy(t, server.Addr())
		proxy.BlackHole(true)
		failsWithin(t, time.Second, atMySQL(t, proxy.Addr()), "store.mysql.address")
	})
}

// withDSN is m with a DSN instead of fields.
func withDSN(m config.MySQL, dsn string) config.MySQL {
	m.Address, m.Database, m.Username, m.Password, m.DSN = "", "", "", "", config.Secret(dsn)
	return m
}

func TestEncryptionOfADatabase(t *testing.T) {
	t.Parallel()
	ca, other := testserver.NewCA(t), testserver.NewCA(t)
	serve := func(host string, until time.Time, more ...string) string {
		cert := ca.Issue(t, host, until)
		args := append(more, "--ssl-cert="+cert.CertFile, "--ssl-key="+cert.KeyFile, "--ssl-ca="+ca.File())
		return testserver.MariaDB(t, args...).Addr()
	}
	soon := time.Now().Add(time.Hour)
	right := serve("127.0.0.1", soon, "--require-secure-transport=ON")
	elsewhere := serve("db.internal", soon)
	for _, row := range []struct {
		name, addr string
		tls        config.TLS
		setting    string
	}{
		{"trusted", right, config.TLS{Enabled: true, CAFile: ca.File()}, ""},
		{"named", elsewhere, config.TLS{Enabled: true, CAFile: ca.File(), ServerName: "db.internal"}, ""},
		{"another name", elsewhere, config.TLS{Enabled: true, CAFile: ca.File()}, "store.mysql.tls.server_name"},
		{"another authority", right, config.TLS{Enabled: true, CAFile: other.File()}, "store.mysql.tls.ca_file"},
		{"not verified, as told", elsewhere, config.TLS{Enabled: true, Insecure: true}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			fields := atMySQL(t, row.addr)
			fields.Store.MySQL.TLS = row.tls
			byDSN := fields
			byDSN.Store.MySQL = withDSN(fields.Store.MySQL, "root@tcp("+row.addr+")/dedup")
			for _, c := range []config.Config{fields, byDSN} {
				if row.setting == "" {
					works(t, c)
					continue
				}
				fails(t, c, row.setting)
			}
		})
	}
	t.Run("the server wants it", func(t *testing.T) {
		fails(t, atMySQL(t, right), "store.mysql.password") // MariaDB says no more than that access is denied
		_, _, err := open.Store(t.Context(), atMySQL(t, right))
		if err == nil || !strings.Contains(err.Error(), "or wants TLS") {
			t.Errorf("got %v, want TLS named", err)
		}
	})
}

func TestADSNKeepsItsOwnValuesAndGetsTheMissingOnes(t *testing.T) {
	t.Parallel()
	m := config.Default().Store.MySQL
	driver := func(dsn string) *mysql.Config {
		t.Helper()
		o, err := open.DriverOptions(withDSN(m, dsn))
		must(t, err)
		return o
	}
	filled := driver("u:p@tcp(db:3306)/d?loc=Local&time_zone=%27%2B08%3A00%27")
	if filled.Timeout != m.DialTimeout || filled.ReadTimeout != m.ReadTimeout || filled.WriteTimeout != m.WriteTimeout ||
		filled.Params["innodb_lock_wait_timeout"] != "1" || filled.Params["time_zone"] != "'+08:00'" ||
		filled.Loc != time.Local || filled.User != "u" || filled.Passwd != "p" || len(filled.Params) != 2 {
		t.Errorf("got %v, %v, %v and %v, want what the configuration says", filled.Timeout, filled.ReadTimeout,
			filled.WriteTimeout, filled.Params)
	}
	kept := driver("u:p@tcp(db:3306)/d?timeout=7s&readTimeout=8s&writeTimeout=9s&INNODB_lock_wait_timeout=2")
	if kept.Timeout != 7*time.Second || kept.ReadTimeout != 8*time.Second || kept.WriteTimeout != 9*time.Second ||
		len(kept.Params) != 1 || kept.Params["INNODB_lock_wait_timeout"] != "2" {
		t.Errorf("got %v, %v, %v and %v, want what the DSN says", kept.Timeout, kept.ReadTimeout, kept.WriteTimeout,
			kept.Params)
	}
}

func TestTheStoreIsGivenWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	m := config.Default().Store.MySQL
	m.Table = "seen"
	if got, want := open.StoreOptions(m), (mysqlstore.Options{Table: "seen", Retries: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	m.Retries, m.JavaCompatible = 0, true
	if got, want := open.StoreOptions(m), (mysqlstore.Options{Table: "seen", Retries: -1, Skew: 10 * time.Second}); got != want {
		t.Errorf("never, and beside the original: got %+v, want %+v", got, want)
	}
}

// Whatever is wrong with a DSN, what is said of it never shows it: the driver
// takes the password for a network, a name or a time where a sign is missing.
func TestAWrongDSNIsNeverShown(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		secret,
		"root:" + secret + "/dedup",
		"root:" + secret + "(127.0.0.1:1)/dedup",
		"root:" + secret + "@127.0.0.1:1/dedup",
		"root:" + secret + "@tcp(127.0.0.1:1/dedup",
		"root:" + secret + "@tcp(127.0.0.1:1)",
		"root:" + secret + "@tcp(127.0.0.1:1)/",
		"mysql://root:" + secret + "@127.0.0.1:1/dedup",
		"root:" + secret + "@tcp(127.0.0.1:1)/dedup?timeout=" + secret,
		"root:" + secret + "@tcp(127.0.0.1:1)/dedup?tls=" + secret,
		"root:" + secret + "@tcp(127.0.0.1:1)/dedup?parseTime=" + secret,
		"root:" + secret + "@tcp(127.0.0.1:1)/dedup?serverPubKey=" + secret,
		"root@tcp(127.0.0.1:1)/dedup?password=" + secret,
		"root:" + secret + "@tcp(127.0.0.1:1)/dedup",
	} {
		c := configured()
		c.Store.Type, c.Store.MySQL.DSN = "mysql", config.Secret(dsn)
		ctx, cancel := context.WithTimeout(t.Context(), ample)
		_, _, err := open.Store(ctx, c)
		cancel()
		shown := strings.Join([]string{fmt.Sprintf("%v %+v %#v", err, err, err), fmt.Sprint(c), c.String()}, " ")
		if err == nil || !strings.Contains(err.Error(), "store.mysql.dsn: ") || strings.Contains(shown, secret) {
			t.Errorf("%s: got %s, want an error about store.mysql.dsn without the secret", dsn, shown)
		}
	}
}

func TestTheConfigurationKnowsWhichTablesTheStoresAccept(t *testing.T) {
	t.Parallel()
	for _, table := range []string{
		"a", "_", "1a", "a1", "A_9", "9", "123", "a.b", "a-b", "a`b", "ä", "a b", strings.Repeat("a", 64),
		strings.Repeat("a", 65), strings.Repeat("9", 63) + "a", strings.Repeat("9", 64),
	} {
		c := atMySQL(t, "db:3306")
		c.Store.MySQL.Table = table
		_, driver := mysqlstore.New(&sql.DB{}, mysqlstore.Options{Table: table})
		if err := c.Validate(); (err == nil) != (driver == nil) {
			t.Errorf("%q: the configuration says %v, the store %v", table, err, driver)
		}
	}
}
