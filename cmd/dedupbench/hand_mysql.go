package main

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/go-sql-driver/mysql"
)

// The table and the statements of the Java original, RocketMQDedupListener, with
// its MySQL store.
const (
	originalTable = "CREATE TABLE t_rocketmq_dedup (" +
		"application_name varchar(255) NOT NULL, topic varchar(255) NOT NULL, tag varchar(16) NOT NULL, " +
		"msg_uniq_key varchar(255) NOT NULL, status varchar(16) NOT NULL, expire_time bigint(20) NOT NULL, " +
		"UNIQUE KEY uniq_key (application_name, topic, tag, msg_uniq_key) USING BTREE" +
		") ENGINE=InnoDB DEFAULT CHARSET=utf8 ROW_FORMAT=COMPACT"
	originalInsert = "INSERT INTO t_rocketmq_dedup(application_name, topic, tag, msg_uniq_key, status, expire_time) " +
		"values (?, ?, ?, ?, ?, ?)"
	originalMark = "UPDATE t_rocketmq_dedup SET status = ? , expire_time  = ? " +
		"WHERE application_name = ? AND topic = ? AND tag = ? AND msg_uniq_key = ? "
	originalDelete = "DELETE FROM t_rocketmq_dedup  " +
		"WHERE application_name = ? AND topic =? AND tag = ? AND msg_uniq_key = ?"
	originalLook = "SELECT status FROM t_rocketmq_dedup " +
		"where application_name = ? AND topic = ? AND tag = ? AND msg_uniq_key  = ? and expire_time > ?"

	originalExpire = time.Minute
	originalKeep   = 24 * time.Hour
)

// original takes the steps of the Java original, on a table of its own.
type original struct {
	db                 *sql.DB
	table, application string
}

func newOriginal(ctx context.Context, s stage, p *probe) (*original, error) {
	db, err := mysqlPool(ctx, s.MySQL, p, s.Callbacks)
	if err != nil {
		return nil, err
	}
	o := &original{db, s.Table, s.Group}
	if _, err := o.exec(ctx, originalTable); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return o, nil
}

func (o *original) text(statement string) string {
	return strings.Replace(statement, "t_rocketmq_dedup", o.table, 1)
}

func (o *original) exec(ctx context.Context, statement string, args ...any) (affected int64, err error) {
	result, err := o.db.ExecContext(ctx, o.text(statement), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// once runs do unless the table says otherwise. The original would also run it
// when its INSERT failed for another reason than a row that is there.
func (o *original) once(ctx context.Context, m *primitive.MessageExt, do func() error) error {
	key := []any{o.application, m.Topic, m.GetTags(), m.GetKeys()}
	if claimed, err := o.claim(ctx, key); err != nil || !claimed {
		return err
	}
	if err := do(); err != nil {
		_, failed := o.exec(ctx, originalDelete, key...)
		return errors.Join(err, failed)
	}
	_, err := o.exec(ctx, originalMark, append([]any{"CONSUMED", after(originalKeep)}, key...)...)
	return err
}

// claim reports whether the row is ours. Without that and an error it is done.
func (o *original) claim(ctx context.Context, key []any) (bool, error) {
	for {
		_, err := o.exec(ctx, originalInsert, append(key[:4:4], "CONSUMING", after(originalExpire))...)
		var answered *mysql.MySQLError
		if !errors.As(err, &answered) || answered.Number != 1062 {
			return err == nil, err
		}
		gone, err := o.exec(ctx, originalDelete+" AND expire_time < ?", append(key[:4:4], after(0))...)
		if err != nil {
			return false, err
		}
		if gone == 0 {
			break
		}
	}
	var status string
	err := o.db.QueryRowContext(ctx, o.text(originalLook), append(key[:4:4], after(0))...).Scan(&status)
	if err == nil && status != "CONSUMED" {
		err = errConsuming
	}
	return false, err
}

// after is a time as the original writes it.
func after(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }
