package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

type mysqlServer struct{ *sql.DB }

func openMySQL(ctx context.Context, where string) (server, error) {
	db, err := mysqlPool(ctx, where, nil, 1)
	if err != nil {
		return nil, fmt.Errorf("-mysql: %w", err)
	}
	return mysqlServer{db}, nil
}

// about says, too, whether a commit waits for the disk, which is what most of
// its time goes into.
func (m mysqlServer) about(ctx context.Context) string {
	var version, flush string
	err := m.QueryRowContext(ctx, "SELECT VERSION(), @@innodb_flush_log_at_trx_commit").Scan(&version, &flush)
	if err != nil {
		return "MySQL of unknown version"
	}
	product := "MySQL"
	if strings.Contains(version, "MariaDB") {
		product = "MariaDB"
	}
	number, _, _ := strings.Cut(version, "-")
	return fmt.Sprintf("%s %s, innodb_flush_log_at_trx_commit %s", product, number, flush)
}

// cpu is that of a server on this machine: it tells the name of its host and the
// file with the number of its process.
func (m mysqlServer) cpu(ctx context.Context) *float64 {
	var host, file string
	err := m.QueryRowContext(ctx, "SELECT @@hostname, @@pid_file").Scan(&host, &file)
	if own, _ := os.Hostname(); err != nil || host != own {
		return nil
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return processCPU(strings.TrimSpace(string(pid)), "mariadbd", "mysqld")
}

func (m mysqlServer) forget(s stage) {
	_, _ = m.Exec("DROP TABLE IF EXISTS " + s.Table) // what cannot be dropped stays: the run counts all the same
}

// mysqlConfig reads -mysql. Its error does not repeat the text: a password may
// be in it.
func mysqlConfig(where string) (*mysql.Config, error) {
	if !strings.Contains(where, "/") {
		where = "root@tcp(" + where + ")/dedup?innodb_lock_wait_timeout=1" // as mysqlstore's Check wants it
	}
	cfg, err := mysql.ParseDSN(where)
	if err != nil || cfg.Net != "tcp" || cfg.DBName == "" {
		return nil, errors.New("want host:port, or user:password@tcp(host:port)/database")
	}
	return cfg, nil
}

// mysqlPool opens all connections of a pool. The driver sends a statement with
// its values in it, as the one for Java does: without that each would be
// prepared first, which is a round trip more.
func mysqlPool(ctx context.Context, where string, p *probe, size int) (*sql.DB, error) {
	cfg, err := mysqlConfig(where)
	if err != nil {
		return nil, err
	}
	cfg.InterpolateParams = true
	if p != nil {
		cfg.DialFunc = p.trips.dial
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	if err := fillPool(ctx, db, size); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func fillPool(ctx context.Context, db *sql.DB, size int) error {
	for range size {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close() // gives it back to the pool
	}
	return nil
}

// storeConnections is the size of the pool that mysqlstore recommends: calls
// travel together, so that more connections would be idle.
const storeConnections = 16

// inMySQLStore is the store that ours uses in MySQL.
func inMySQLStore(ctx context.Context, s stage, p *probe) (store.Store, func() error, error) {
	db, err := mysqlPool(ctx, s.MySQL, p, storeConnections)
	if err != nil {
		return nil, nil, err
	}
	records, err := mysqlstore.New(db, mysqlstore.Options{Table: s.Table})
	if err == nil {
		err = records.Migrate(ctx)
	}
	return records, db.Close, err
}
