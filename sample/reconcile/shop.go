package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/mysql/database"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// shop is the business: a table in a database of its own.
type shop struct {
	db  *sql.DB
	run string // tells its rows from those of other runs

	orders int // how many there are to apply
}

// openShop makes the table. Nothing in it keeps an order from being applied twice.
func openShop(ctx context.Context, s settings) (*shop, error) {
	db, err := database.Open(s.shop, 16)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS dedup_sample_applied"+
		" (run VARBINARY(32) NOT NULL, no VARBINARY(32) NOT NULL, KEY (run, no)) ENGINE=InnoDB")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &shop{db: db, run: s.Name, orders: s.orders}, nil
}

// verify is the Verifier: it looks where apply has written.
func (s *shop) verify(ctx context.Context, k store.Key) (store.Finding, error) {
	var applied bool
	err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM dedup_sample_applied WHERE run = ? AND no = ?",
		s.run, k.ID).Scan(&applied)
	switch {
	case err != nil:
		return store.FindingUnknown, err
	case applied:
		return store.Happened, nil
	}
	return store.NotHappened, nil
}

// handle is the callback. Every fifth order has a process killed at its first
// attempt, before its write or after.
func (s *shop) handle(ctx context.Context, m *primitive.MessageExt) error {
	no := m.GetKeys()
	fate := no[len(no)-1]
	if running, _ := dedup.FromContext(ctx); running.Attempt > 1 {
		fate = 0
	}
	if fate == '4' {
		die()
	}
	err := s.apply(ctx, no)
	if fate == '8' {
		die()
	}
	return err
}

func (s *shop) apply(ctx context.Context, no string) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO dedup_sample_applied VALUES (?, ?)", s.run, no)
	return err
}

func (s *shop) applied(ctx context.Context) (all, distinct int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*), COUNT(DISTINCT no) FROM dedup_sample_applied WHERE run = ?", s.run).
		Scan(&all, &distinct)
	return all, distinct, err
}

// clear removes what this run has left in the table.
func (s *shop) clear(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM dedup_sample_applied WHERE run = ?", s.run)
	return err
}
