package orm

import (
	"context"
	"database/sql"
	"errors"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
)

// openGORM opens GORM once, on the pool of the records. What a program sets here
// counts in transactions, too.
func openGORM(pool *sql.DB) (*gorm.DB, error) {
	return gorm.Open(mysql.New(mysql.Config{Conn: pool}), &gorm.Config{
		TranslateError: true, // the errors of the server become GORM's, such as ErrDuplicatedKey
		Logger:         logger.Discard,
	})
}

// GORM is g inside of the transaction of a message. It is what the Begin of GORM does,
// with a transaction that has begun already: GORM begins none around its writes then,
// and its Transaction takes a savepoint. A gorm.DB that is opened on each transaction
// would work, too, but learn every model anew.
func GORM(ctx context.Context, g *gorm.DB, tx *sql.Tx) *gorm.DB {
	session := g.Session(&gorm.Session{NewDB: true, Context: ctx}) // Context gives it a Statement of its own
	session.Statement.ConnPool = tx
	return session
}

// BookByGORM is the handler for GORM.
func (s *Shop) BookByGORM(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
	g := GORM(ctx, s.gorm, tx)
	err := g.Table(s.Orders).Create(&Order{No: m.GetKeys(), Item: Item}).Error
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		return dedup.AlreadyDone(err)
	}
	if err != nil {
		return err
	}
	return g.Table(s.Stock).Where("item = ?", Item).Update("items", gorm.Expr("items - 1")).Error
}
