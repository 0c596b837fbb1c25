package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// shop is the business: two tables in the database of the records.
type shop struct {
	db  *sql.DB
	run string // tells its rows from those of other runs
}

var tables = []string{
	"CREATE TABLE IF NOT EXISTS dedup_sample_orders (run VARBINARY(32) NOT NULL, no VARBINARY(32) NOT NULL, KEY (run))" +
		" ENGINE=InnoDB",
	"CREATE TABLE IF NOT EXISTS dedup_sample_stock (run VARBINARY(32) PRIMARY KEY, items INT NOT NULL) ENGINE=InnoDB",
}

// open makes the tables, with items in stock.
func (s *shop) open(ctx context.Context, items int) error {
	for _, table := range tables {
		if _, err := s.db.ExecContext(ctx, table); err != nil {
			return err
		}
	}
	_, err := s.db.ExecContext(ctx, "INSERT INTO dedup_sample_stock VALUES (?, ?)", s.run, items)
	return err
}

// book is the callback. Everything that it writes through tx is committed together
// with the record of the message, or not at all.
func (s *shop) book(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
	no := m.GetKeys()
	if _, err := tx.ExecContext(ctx, "INSERT INTO dedup_sample_orders VALUES (?, ?)", s.run, no); err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond) // the work, in which a kill is worst
	_, err := tx.ExecContext(ctx, "UPDATE dedup_sample_stock SET items = items - 1 WHERE run = ?", s.run)
	return err
}

// done tells how many different orders are booked.
func (s *shop) done(ctx context.Context) (int, error) {
	_, distinct, err := s.booked(ctx)
	return distinct, err
}

func (s *shop) booked(ctx context.Context) (all, distinct int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(*), COUNT(DISTINCT no) FROM dedup_sample_orders WHERE run = ?", s.run).
		Scan(&all, &distinct)
	return all, distinct, err
}

// close prints the last line, and removes what this run has left in the tables.
func (s *shop) close(ctx context.Context, orders int) error {
	all, distinct, err := s.booked(ctx)
	if err != nil {
		return err
	}
	var left int
	err = s.db.QueryRowContext(ctx, "SELECT items FROM dedup_sample_stock WHERE run = ?", s.run).Scan(&left)
	if err != nil {
		return err
	}
	for _, table := range []string{"dedup_sample_orders", "dedup_sample_stock"} {
		if _, err := s.db.ExecContext(ctx, "DELETE FROM "+table+" WHERE run = ?", s.run); err != nil {
			return err
		}
	}
	extra, lost := max(all-distinct, -left), max(orders-distinct, left)
	fmt.Printf("orders=%d booked=%d left_in_stock=%d extra=%d lost=%d\n", orders, all, left, extra, lost)
	if extra != 0 || lost != 0 {
		return errors.New("not every order was booked once")
	}
	return nil
}
