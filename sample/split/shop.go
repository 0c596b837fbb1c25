package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// shop is the business: a table in the database of the records, with a row for
// everything that was done.
type shop struct {
	db   *sql.DB
	run  string // tells its rows from those of other runs
	next string // topic of the second step
}

// What is done with an order, as the table calls it.
const (
	booked  = "booked"
	shipped = "shipped"
)

// open makes the table.
func (s *shop) open(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS dedup_sample_steps (run VARBINARY(32) NOT NULL,"+
		" done VARBINARY(16) NOT NULL, no VARBINARY(32) NOT NULL, KEY (run, done)) ENGINE=InnoDB")
	return err
}

// book is the first step. Everything that it writes through tx is committed together
// with the record of the message, or not at all; and what it returns is published
// exactly if it is committed.
func (s *shop) book(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) ([]*primitive.Message, error) {
	no := m.GetKeys()
	if err := s.write(ctx, tx, booked, no); err != nil {
		return nil, err
	}
	// The key is what makes copies of this message the same: a broker makes some.
	return []*primitive.Message{primitive.NewMessage(s.next, []byte(no)).WithKeys([]string{no})}, nil
}

// ship is the second step.
func (s *shop) ship(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
	return s.write(ctx, tx, shipped, m.GetKeys())
}

func (s *shop) write(ctx context.Context, tx *sql.Tx, done, no string) error {
	time.Sleep(10 * time.Millisecond) // the work
	_, err := tx.ExecContext(ctx, "INSERT INTO dedup_sample_steps VALUES (?, ?, ?)", s.run, done, no)
	return err
}

// done tells how many different orders are booked, and how many shipped, together.
func (s *shop) done(ctx context.Context) (int, error) {
	_, bookings, err := s.count(ctx, booked)
	if err != nil {
		return 0, err
	}
	_, shipments, err := s.count(ctx, shipped)
	return bookings + shipments, err
}

func (s *shop) count(ctx context.Context, done string) (all, distinct int, err error) {
	err = s.db.QueryRowContext(ctx,
		"SELECT COUNT(*), COUNT(DISTINCT no) FROM dedup_sample_steps WHERE run = ? AND done = ?", s.run, done).
		Scan(&all, &distinct)
	return all, distinct, err
}

// close prints the last line, and removes what this run has left in the table.
func (s *shop) close(ctx context.Context, orders int) error {
	bookings, differentBookings, err := s.count(ctx, booked)
	if err != nil {
		return err
	}
	shipments, differentShipments, err := s.count(ctx, shipped)
	if err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, "DELETE FROM dedup_sample_steps WHERE run = ?", s.run); err != nil {
		return err
	}
	extra := bookings - differentBookings + shipments - differentShipments
	lost := 2*orders - differentBookings - differentShipments
	fmt.Printf("orders=%d booked=%d shipped=%d extra=%d lost=%d\n", orders, bookings, shipments, extra, lost)
	if extra != 0 || lost != 0 {
		return errors.New("not every order was booked and shipped once")
	}
	return nil
}
