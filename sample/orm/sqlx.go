package orm

import (
	"context"
	"database/sql"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/jmoiron/sqlx"
)

// SQLX is x inside of the transaction of a message. sqlx takes the form of named
// parameters from the name of a driver, which only its own Begin can hand on; without
// one it is ?, that of MySQL and SQLite.
func SQLX(x *sqlx.DB, tx *sql.Tx) *sqlx.Tx {
	return &sqlx.Tx{Tx: tx, Mapper: x.Mapper}
}

// BookBySQLX is the handler for sqlx.
func (s *Shop) BookBySQLX(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
	x := SQLX(s.sqlx, tx)
	o := Order{No: m.GetKeys(), Item: Item}
	if _, err := x.NamedExecContext(ctx, "INSERT INTO "+s.Orders+" VALUES (:no, :item)", o); err != nil {
		return alreadyBooked(err)
	}
	_, err := x.NamedExecContext(ctx, "UPDATE "+s.Stock+" SET items = items - 1 WHERE item = :item", o)
	return err
}
