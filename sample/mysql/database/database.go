// Package database opens MySQL and MariaDB as an application does that has its records
// there. Use this when you look for a start to copy from: [Records] is what the samples
// mysql, mysqltx, split and reconcile have in common. An application with a
// configuration file uses package config/open instead.
package database

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// Records returns a pool, and a store over it whose table is made if it is not there.
// In the end call Wait of the store, then Close of the pool.
func Records(ctx context.Context, dsn string, connections int) (*sql.DB, *mysqlstore.Store, error) {
	db, err := Open(dsn, connections)
	if err != nil {
		return nil, nil, err
	}
	records, err := mysqlstore.New(db, mysqlstore.Options{Table: "dedup_sample"})
	if err == nil {
		err = records.Migrate(ctx)
	}
	if err == nil {
		err = records.Check(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, records, nil
}

// Open returns a pool of that many connections. A callback that runs in a transaction
// has one of them to itself, and so has each copy that waits for it meanwhile. No error
// shows the password.
func Open(dsn string, connections int) (*sql.DB, error) {
	o, err := mysql.ParseDSN(dsn)
	if err != nil { // which may show the password
		return nil, errors.New("the DSN is not like user:password@tcp(host:port)/database")
	}
	o.Timeout, o.ReadTimeout, o.WriteTimeout = 5*time.Second, 10*time.Second, 5*time.Second
	if o.Params == nil {
		o.Params = map[string]string{}
	}
	o.Params["innodb_lock_wait_timeout"] = "1" // a copy waits for a second, and is deferred
	connector, err := mysql.NewConnector(o)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(mysqlstore.Connector(connector)) // which makes transactions safer and faster
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections) // the default of 2 would open and close connections all the time
	return db, nil
}
