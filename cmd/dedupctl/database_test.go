//go:build unix

package main_test

import (
	"database/sql"
	"strings"
	"syscall"
	"testing"

	_ "github.com/go-sql-driver/mysql" // to look at the records
	_ "modernc.org/sqlite"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

const sceneStore = `store: {redis: {addrs: [REDIS], prefix: "OWN:", read_timeout: READ}}`

// runsEachOnce consumes copies and looks at what is recorded of them.
func runsEachOnce(t *testing.T, s scene, table string, open func() (*sql.DB, error)) {
	t.Helper()
	s.produce(t, "K", "-count", "4", "-resend", "50")
	p := s.consume(t, `echo "$DEDUP_KEY $DEDUP_ATTEMPT" >>ran`)
	eventually(t, "all keys have run", func() bool { return strings.Count(s.read("ran"), "\n") == 4 })
	p.signal(t, syscall.SIGTERM)
	p.exits(t, 0)
	if got, want := strings.Join(sortedLines(s.read("ran")), ","), "K-1 1,K-2 1,K-3 1,K-4 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if strings.Contains(p.stderr.String(), "pulse") {
		t.Error("it complains that the store cannot tell of lost records, as none of its kind can")
	}
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var done int
	err = db.QueryRow("SELECT COUNT(*) FROM " + table + " WHERE status = 'CONSUMED' AND CAST(id AS CHAR) LIKE 'K-%'").Scan(&done)
	if err != nil || done != 4 {
		t.Errorf("got %d done records, %v, want 4", done, err)
	}
}

func TestConsumeWithRecordsInADatabase(t *testing.T) {
	t.Parallel()
	address := storetest.Server(t, "DEDUP_TEST_MARIADB")
	table := "ctl_" + store.NewToken().String()
	open := func() (*sql.DB, error) { return sql.Open("mysql", "root@tcp("+address+")/dedup") }
	t.Cleanup(func() {
		db, err := open()
		if err == nil {
			_, err = db.Exec("DROP TABLE IF EXISTS " + table)
		}
		if err != nil {
			t.Error(err)
		}
	})
	s := newScene(t, sceneStore, "store: {type: mysql, mysql: {address: '"+address+"', database: dedup, username: root, "+
		"table: "+table+", migrate: true}}")
	runsEachOnce(t, s, table, open)
}

func TestConsumeWithRecordsInAFile(t *testing.T) {
	t.Parallel()
	s := newScene(t, sceneStore, "store: {type: sqlite, sqlite: {file: records.db}}")
	runsEachOnce(t, s, "dedup_record", func() (*sql.DB, error) { return sql.Open("sqlite", s.dir+"/records.db") })
}

func TestADatabaseThatNobodyCanReachIsToldWithoutItsPassword(t *testing.T) {
	t.Parallel()
	f := file(t, strings.Replace(valid, `{redis: {addrs: ["127.0.0.1:1"]}}`, "{type: mysql}", 1))
	dsn := "DEDUP_STORE_MYSQL_DSN=dedup:hunter2@tcp(127.0.0.1:1)/orders"
	for args, code := range map[string]int{"config validate " + f: 0, "consume -exec true -config " + f: 1} {
		p := call(t, []string{dsn}, strings.Fields(args)...)
		p.exits(t, code)
		if text := p.stdout.String() + p.stderr.String(); strings.Contains(text, "hunter2") {
			t.Errorf("%s: it shows the password: %s", args, text)
		}
		if code == 1 && !strings.Contains(p.stderr.String(), "store.mysql.dsn: no server answers there") {
			t.Errorf("got %q, want the setting to look at", p.stderr.String())
		}
	}
}
