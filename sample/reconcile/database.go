package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// openRecords makes the table if it is not there.
func openRecords(ctx context.Context, dsn string) (*mysqlstore.Store, func(context.Context) error, error) {
	db, err := openPool("records", dsn)
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
	return records, func(ctx context.Context) error { return errors.Join(records.Wait(ctx), db.Close()) }, nil
}

func openPool(flag, dsn string) (*sql.DB, error) {
	o, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("-%s: want user:password@tcp(host:port)/database", flag) // err may show the password
	}
	o.Timeout, o.ReadTimeout, o.WriteTimeout = 5*time.Second, 10*time.Second, 5*time.Second
	if o.Params == nil {
		o.Params = map[string]string{}
	}
	o.Params["innodb_lock_wait_timeout"] = "1"
	connector, err := mysql.NewConnector(o)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16) // the default of 2 would open and close connections all the time
	return db, nil
}
