package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
)

const onMySQL = `
rocketmq: {name_servers: [10.0.0.1:9876], group: billing}
store: {type: mysql, mysql: {address: db-1:3306, database: orders, username: dedup}}
topics: [{name: orders, key: keys}]
`

func TestEveryKeyOfADatabaseHasAVariable(t *testing.T) {
	for name, value := range map[string]string{
		"MYSQL_ADDRESS": "db-2:3307", "MYSQL_DATABASE": "shop", "MYSQL_USERNAME": "u", "MYSQL_PASSWORD": "hunter2",
		"MYSQL_MAX_OPEN": "32", "MYSQL_MAX_IDLE": "8", "MYSQL_MAX_LIFETIME": "5m", "MYSQL_DIAL_TIMEOUT": "2s",
		"MYSQL_READ_TIMEOUT": "3s", "MYSQL_WRITE_TIMEOUT": "4s", "MYSQL_TABLE": "done", "MYSQL_MIGRATE": "true",
		"MYSQL_RETRIES": "0", "MYSQL_JAVA_COMPATIBLE": "true", "MYSQL_SKEW": "1m", "MYSQL_TLS_ENABLED": "true",
		"MYSQL_TLS_INSECURE": "true", "SQLITE_FILE": "records.db", "SQLITE_TABLE": "seen",
		"SQLITE_SYNCHRONOUS": "normal", "SQLITE_BUSY_TIMEOUT": "1s", "SWEEP_ENABLED": "false", "SWEEP_EVERY": "2m",
		"SWEEP_BATCH": "50", "SWEEP_SHARE": "0.25",
	} {
		t.Setenv("DEDUP_STORE_"+name, value)
	}
	file := write(t, "c.yaml", onMySQL)
	c, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Store{
		Type: "mysql", Watch: true, Redis: config.Default().Store.Redis,
		MySQL: config.MySQL{
			Address: "db-2:3307", Database: "shop", Username: "u", Password: "hunter2",
			TLS: config.TLS{Enabled: true, Insecure: true}, MaxOpen: 32, MaxIdle: 8, MaxLifetime: 5 * time.Minute,
			DialTimeout: 2 * time.Second, ReadTimeout: 3 * time.Second, WriteTimeout: 4 * time.Second,
			Table: "done", Migrate: true, Retries: 0, JavaCompatible: true, Skew: time.Minute,
		},
		SQLite: config.SQLite{
			File: filepath.Join(filepath.Dir(file), "records.db"), Table: "seen", Synchronous: "normal",
			BusyTimeout: time.Second,
		},
		Sweep: config.Sweep{Enabled: false, Every: 2 * time.Minute, Batch: 50, Share: 0.25},
	}
	if fmt.Sprint(c.Store) != fmt.Sprint(want) || c.Store.MySQL.Password.Reveal() != "hunter2" {
		t.Errorf("got\n%+v\nwant\n%+v", c.Store, want)
	}
}

func TestADSNComesFromTheEnvironmentOrFromAFile(t *testing.T) {
	const dsn = "dedup:hunter2@tcp(db-1:3306)/orders?charset=utf8mb4"
	text := strings.Replace(onMySQL, "address: db-1:3306, database: orders, username: dedup", "dsn_file: secret", 1)
	file := write(t, "c.yaml", text)
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "secret"), []byte(dsn+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file)
	if err != nil || c.Store.MySQL.DSN.Reveal() != dsn || len(c.Warnings()) > 0 {
		t.Errorf("from a file: got %v, %v and %v, want the DSN", c.Store.MySQL, err, c.Warnings())
	}
	t.Setenv("DEDUP_STORE_MYSQL_DSN", dsn)
	c = load(t, strings.Replace(text, "dsn_file: secret", "", 1))
	if c.Store.MySQL.DSN.Reveal() != dsn || len(c.Warnings()) > 0 {
		t.Errorf("from the environment: got %v and %v, want the DSN", c.Store.MySQL, c.Warnings())
	}
}

func TestTheTableIsTheOneThatTheStoreHasByDefault(t *testing.T) {
	for text, want := range map[string]string{
		onMySQL: "dedup_record",
		strings.Replace(onMySQL, "username:", "java_compatible: true, username:", 1):              "t_rocketmq_dedup",
		strings.Replace(onMySQL, "username:", "java_compatible: true, table: done, username:", 1): "done",
	} {
		c := load(t, text)
		if c.Store.MySQL.Table != want {
			t.Errorf("got the table %q, want %q", c.Store.MySQL.Table, want)
		}
		if again := load(t, c.String()); again.String() != c.String() {
			t.Errorf("printed and loaded again: got\n%v\nwant\n%v", again, c)
		}
	}
	java := load(t, strings.Replace(onMySQL, "username:", "java_compatible: true, username:", 1))
	if got := java.KeyOf(config.Topic{}); got != "message_id" {
		t.Errorf("got the key %q, want the original's", got)
	}
}
