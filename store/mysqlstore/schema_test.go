package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// findings are those that err joins.
func findings(err error) (all []*mysqlstore.Finding) {
	var finding *mysqlstore.Finding
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, findings(e)...)
		}
	} else if errors.As(err, &finding) {
		all = append(all, finding)
	}
	return all
}

// Each change is one that somebody made to a table by hand. What Check says of
// it has the statement that mends it.
func TestCheckSaysWhatIsWrongWithATableAndHowToMendIt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ change, problem string }{
		"too short a column":        {"MODIFY id VARBINARY(100) NOT NULL", "column id is varbinary(100) NOT NULL"},
		"nullable":                  {"MODIFY expire_time BIGINT NULL", "column expire_time is bigint"},
		"other type":                {"MODIFY expire_time DOUBLE NOT NULL", "column expire_time is double"},
		"unsigned":                  {"MODIFY lease_ms BIGINT UNSIGNED NOT NULL", "unsigned NOT NULL"},
		"too small a number":        {"MODIFY horizon_ms INT NOT NULL", "column horizon_ms is int"},
		"text that folds case":      {"MODIFY id VARCHAR(256) CHARACTER SET utf8 NOT NULL", "column id is varchar(256)"},
		"status as a text":          {"MODIFY status VARCHAR(16) CHARACTER SET utf8 NOT NULL", "column status is varchar"},
		"too short an owner":        {"MODIFY owner BINARY(8) NOT NULL", "column owner is binary(8)"},
		"no default":                {"MODIFY fence BIGINT NOT NULL", "column fence is bigint"},
		"missing column":            {"DROP COLUMN found", "column found is missing"},
		"missing index":             {"DROP INDEX status_expire_time", "no index (status, expire_time)"},
		"index of another order":    {"DROP INDEX status_expire_time, ADD INDEX (expire_time, status)", "no index"},
		"no primary key":            {"DROP PRIMARY KEY", "no primary key (key_hash)"},
		"another primary key":       {"DROP PRIMARY KEY, ADD PRIMARY KEY (id)", "no primary key (key_hash)"},
		"primary key of a prefix":   {"DROP PRIMARY KEY, ADD PRIMARY KEY (key_hash(4))", "no primary key (key_hash)"},
		"more in the primary key":   {"DROP PRIMARY KEY, ADD PRIMARY KEY (key_hash, id)", "no primary key (key_hash)"},
		"a counter as primary key":  {"DROP PRIMARY KEY, ADD n INT AUTO_INCREMENT PRIMARY KEY", "no primary key (key_hash)"},
		"another unique key":        {"ADD UNIQUE KEY `by ``id` (id)", "another unique key"},
		"unique prefix of the key":  {"ADD UNIQUE KEY prefix (key_hash(8))", "another unique key, prefix"},
		"column without a default":  {"ADD COLUMN `my ``note` VARCHAR(20) NOT NULL", "has no default"},
		"MyISAM":                    {"ENGINE=MyISAM", "the engine is MyISAM"},
		"several things at once":    {"ENGINE=MyISAM, DROP COLUMN mark_of_nobody, DROP COLUMN decision", "column decision is missing"},
		"harmless: longer":          {"MODIFY id VARBINARY(300) NOT NULL", ""},
		"harmless: more columns":    {"ADD COLUMN note VARCHAR(20), ADD COLUMN seen INT NOT NULL DEFAULT 0", ""},
		"harmless: more indexes":    {"ADD INDEX (application, topic)", ""},
		"harmless: BIGINT attempts": {"MODIFY attempts BIGINT NOT NULL", ""},
	}
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := migrated(t, db, mysqlstore.Options{})
				if strings.Contains(c.change, "mark_of_nobody") {
					executes(t, db, "ALTER TABLE %s ADD COLUMN mark_of_nobody INT", s.Table())
				}
				executes(t, db, "ALTER TABLE %s %s", s.Table(), c.change)
				mended(t, db, s, c.problem)
			})
		}
	})
}

// mended wants Check to report a problem, and its remedies to be statements that
// mend it when they are executed as they are. Migrate then finds nothing to do.
func mended(t *testing.T, db *sql.DB, s *mysqlstore.Store, problem string) {
	t.Helper()
	err := s.Check(within(t, ample))
	if problem == "" {
		if err != nil {
			t.Fatalf("check: got %v, want nothing", err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), problem) {
		t.Fatalf("check: got %v, want something about %q", err, problem)
	}
	for _, f := range findings(err) {
		_, statement, found := strings.Cut(f.Remedy, "run: ")
		if !found || f.Problem == "" || f.Field != "table "+strings.Trim(s.Table(), "`") {
			t.Fatalf("got field %q, problem %q, remedy %q, want the table and a statement", f.Field, f.Problem, f.Remedy)
		}
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := s.Check(within(t, ample)); err != nil {
		t.Fatalf("check after the remedies: %v", err)
	}
	if plan, err := s.Plan(within(t, ample)); err != nil || len(plan) > 0 {
		t.Fatalf("plan after the remedies: got %q, %v, want none", plan, err)
	}
}

func TestMigrateMendsATableAndKeepsItsRows(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := migrated(t, db, mysqlstore.Options{})
		all := requests(newKeys(20))
		claimsAll(t, s, all)
		for _, r := range all[:10] {
			completes(t, s, r.Key, r.Token, time.Hour, store.Completed)
		}
		executes(t, db, "ALTER TABLE %s DROP COLUMN decision, DROP COLUMN found, DROP INDEX status_expire_time,"+
			" MODIFY id VARCHAR(256) CHARACTER SET utf8 NULL, DROP PRIMARY KEY, ENGINE=MyISAM", s.Table())
		plan, err := s.Plan(within(t, ample))
		if err != nil || len(plan) != 1 {
			t.Fatalf("plan: got %q, %v, want one statement", plan, err)
		}
		for range 2 { // the second has nothing to do
			if err := s.Migrate(within(t, ample)); err != nil {
				t.Fatal(err)
			}
		}
		for i, r := range all {
			if i < 10 {
				answers(t, s, r.Key, store.Done)
			} else {
				claims(t, s, r, 1) // its own claim again
			}
		}
		if err := s.Check(within(t, ample)); err != nil {
			t.Errorf("check: %v", err)
		}
	})
}

func TestManyInstancesMayMigrateAtOnce(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		const instances = 8
		var stores []*mysqlstore.Store
		first := pool(t, address, "")
		name := table(t, first)
		for range instances {
			stores = append(stores, over(t, pool(t, address, ""), name))
		}
		for round := range 2 {
			if round == 1 {
				executes(t, first, "ALTER TABLE %s DROP COLUMN fence, DROP PRIMARY KEY", name)
			}
			errs := make(chan error)
			for _, s := range stores {
				go func() { errs <- errors.Join(s.Migrate(within(t, ample)), claimAndComplete(s, newKey())) }()
			}
			for range stores {
				if err := <-errs; err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			}
		}
		if n := number(t, first, "SELECT COUNT(*) FROM %s", name); n != 2*instances {
			t.Errorf("records: got %d, want %d", n, 2*instances)
		}
	})
}

func TestSchemaRunByHandIsWhatMigrateMakes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		for kind, open := range map[string]func(*sql.DB, mysqlstore.Options) (*mysqlstore.Store, error){
			"native": mysqlstore.New, "java": mysqlstore.NewJavaCompatible,
		} {
			var shown [2]string
			for i := range shown {
				name := table(t, db)
				s, err := open(db, mysqlstore.Options{Table: name})
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					executes(t, db, "%s", strings.TrimSuffix(strings.TrimSpace(s.Schema()), ";"))
				} else if err := s.Migrate(within(t, ample)); err != nil {
					t.Fatal(err)
				}
				var ignored string
				if err := db.QueryRow("SHOW CREATE TABLE "+name).Scan(&ignored, &shown[i]); err != nil {
					t.Fatal(err)
				}
				shown[i] = strings.ReplaceAll(shown[i], name, "t")
				if plan, err := s.Plan(within(t, ample)); err != nil || len(plan) > 0 {
					t.Errorf("%s: plan: got %q, %v, want none", kind, plan, err)
				}
			}
			if shown[0] != shown[1] {
				t.Errorf("%s: by hand:\n%s\nby Migrate:\n%s", kind, shown[0], shown[1])
			}
		}
	})
}

func TestCheckFindsAViewAndAMissingTable(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := migrated(t, db, mysqlstore.Options{})
		name := "view_" + store.NewToken().String()
		executes(t, db, "CREATE VIEW %s AS SELECT * FROM %s", name, s.Table())
		t.Cleanup(func() { drop(t, db, "VIEW "+name) })
		found := findings(over(t, db, name).Check(within(t, ample)))
		if len(found) != 1 || found[0].Problem != "it is a view" || found[0].Remedy == "" {
			t.Errorf("a view: got %v, want that it is one", found)
		}
		fails(t, "migrate of a view", over(t, db, name).Migrate(within(t, ample)), store.Permanent)
		mended(t, db, over(t, db, table(t, db)), "it is missing")
	})
}

func TestATableMayHaveANameInUpperCase(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		lower := table(t, db)
		var stores []*mysqlstore.Store
		for _, name := range []string{lower, strings.ToUpper(lower)} {
			s := over(t, db, name)
			t.Cleanup(func() { drop(t, db, "TABLE IF EXISTS "+name) })
			if err := s.Migrate(within(t, ample)); err != nil {
				t.Fatal(err)
			}
			if err := s.Check(within(t, ample)); err != nil {
				t.Errorf("check: %v", err)
			}
			stores = append(stores, s)
		}
		// One is broken, the other is not.
		executes(t, db, "ALTER TABLE %s DROP COLUMN found", stores[0].Table())
		if err := stores[1].Check(within(t, ample)); err != nil {
			t.Errorf("check of %s beside %s: %v", stores[1].Table(), stores[0].Table(), err)
		}
		mended(t, db, stores[0], "column found is missing")
	})
}

func TestCheckFindsSettingsThatWouldLoseRecords(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		name := strings.Trim(migrated(t, pool(t, address, ""), mysqlstore.Options{}).Table(), "`")
		for what, c := range map[string]struct{ dsn, field, remedy string }{
			"autocommit off":   {"/dedup?innodb_lock_wait_timeout=1&autocommit=0", "autocommit", "autocommit=1"},
			"a patient server": {"/dedup?innodb_lock_wait_timeout=50", "innodb_lock_wait_timeout", "innodb_lock_wait_timeout=1"},
			"no database":      {"/?innodb_lock_wait_timeout=1", "DSN", "/database"},
			"no isolation": {"/dedup?innodb_lock_wait_timeout=1&tx_isolation=%27READ-UNCOMMITTED%27",
				"tx_isolation", "READ-COMMITTED"},
		} {
			found := findings(over(t, opened(t, "root@tcp("+address+")"+c.dsn), name).Check(within(t, ample)))
			if len(found) == 0 || found[0].Field != c.field || !strings.Contains(found[0].Remedy, c.remedy) {
				t.Errorf("%s: got %v, want one about %s with %s", what, found, c.field, c.remedy)
			}
		}
	})
}

func TestNewReportsEverythingThatIsWrongAtOnce(t *testing.T) {
	t.Parallel()
	_, err := mysqlstore.New(nil, mysqlstore.Options{Table: "a b", Retries: -2, Skew: -1})
	for _, want := range []string{"db is nil", "Options.Table", "Options.Retries", "Options.Skew"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something about %s", err, want)
		}
	}
	for _, name := range []string{
		"a b", "a`b", "a;DROP TABLE t", "a'b", "a\"b", "a--b", "a/*b*/", "a\\b", "a\x00b", "ä", "a.b", "a\n", "123",
		strings.Repeat("a", 65), "\u202ea", "a%b",
	} {
		if _, err := mysqlstore.New(new(sql.DB), mysqlstore.Options{Table: name}); err == nil {
			t.Errorf("table %q: got no error", name)
		}
	}
	for _, name := range []string{"a", "_", "1a", "select", "T_Rocketmq_Dedup", strings.Repeat("a", 64)} {
		if _, err := mysqlstore.New(new(sql.DB), mysqlstore.Options{Table: name}); err != nil {
			t.Errorf("table %q: got %v", name, err)
		}
	}
}

func TestMigrateGivesUpWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := over(t, db, table(t, db))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Migrate(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
}
