package orm

import (
	"context"
	"database/sql"
	"errors"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
	"gorm.io/gorm"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// Shop books orders and takes their item out of stock, in two tables of the database
// that has the records. Each of its Book methods is a handler for SubscribeTx.
type Shop struct {
	Orders, Stock string // tables

	sqlx *sqlx.DB
	gorm *gorm.DB
}

// Order is a row of the orders, for sqlx and for GORM.
type Order struct {
	No   string `db:"no"   gorm:"primaryKey"`
	Item string `db:"item"`
}

// Item is what all orders are about.
const Item = "pen"

// NewShop returns a shop on the pool of the records: theirs is the transaction.
func NewShop(pool *sql.DB, orders, stock string) (*Shop, error) {
	g, err := openGORM(pool)
	if err != nil {
		return nil, err
	}
	return &Shop{Orders: orders, Stock: stock, sqlx: sqlx.NewDb(pool, "mysql"), gorm: g}, nil
}

// Create makes the tables, with so many items in stock.
func (s *Shop) Create(ctx context.Context, items int) error {
	for _, table := range []string{
		s.Orders + " (no VARBINARY(64) PRIMARY KEY, item VARBINARY(64) NOT NULL)",
		s.Stock + " (item VARBINARY(64) PRIMARY KEY, items INT NOT NULL)",
	} {
		if _, err := s.sqlx.ExecContext(ctx, "CREATE TABLE "+table+" ENGINE=InnoDB"); err != nil {
			return err
		}
	}
	_, err := s.sqlx.ExecContext(ctx, "INSERT INTO "+s.Stock+" VALUES (?, ?)", Item, items)
	return err
}

// BookBySQL is the handler without a library.
func (s *Shop) BookBySQL(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO "+s.Orders+" VALUES (?, ?)", m.GetKeys(), Item); err != nil {
		return alreadyBooked(err)
	}
	_, err := tx.ExecContext(ctx, "UPDATE "+s.Stock+" SET items = items - 1 WHERE item = ?", Item)
	return err
}

// alreadyBooked marks the error of the primary key of the orders.
func alreadyBooked(err error) error {
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) && e.Number == 1062 {
		return dedup.AlreadyDone(err)
	}
	return err
}
