package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// Check looks at the settings of the connection and at the table, and takes a
// scratch record through it, which it takes back. It returns nil, or all that it
// found.
func (s *Store) Check(ctx context.Context) error {
	findings := new(error)
	err := s.line.do(ctx, &call{op: "check", alone: func(w *writer, now int64) (changed bool, err error) {
		*findings = w.check(s.options, now)
		return false, nil
	}})
	if err != nil {
		return err
	}
	return *findings
}

func (w *writer) check(o Options, now int64) error {
	ctx := context.Background()
	if err := errors.Join(checkColumns(ctx, w.conn, o.Table), checkVersion(ctx, w.conn, o.Table)); err != nil {
		return failed("check", store.Permanent, err)
	}
	var errs []error
	want := map[string]string{"FULL": "2", "NORMAL": "1"}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": want[o.Synchronous]} {
		var got string
		if err := w.conn.QueryRowContext(ctx, `PRAGMA `+pragma).Scan(&got); err != nil {
			errs = append(errs, failed("check", classify(err), err))
		} else if got != want {
			errs = append(errs, failed("check", store.Permanent, fmt.Errorf(
				"PRAGMA %s is %s, want %s; open the store anew and keep others from changing it", pragma, got, want)))
		}
	}
	if err := w.scratch(now); err != nil {
		errs = append(errs, failed("check", classify(err), err))
	}
	return errors.Join(errs...)
}

// scratch writes a record of no application's and changes it.
func (w *writer) scratch(now int64) error {
	t := store.NewToken()
	s := stepOf(store.Key{Application: "check", Topic: "check", ID: t.String()}, nil)
	f, err := w.find(&s)
	if err != nil {
		return err
	}
	for range 2 {
		f.row.Complete(t, store.MinDuration, now)
		if err := w.write(f); err != nil {
			return err
		}
		if f, err = w.find(&s); err != nil {
			return err
		}
	}
	if !f.exists || f.row.Status != sqlrecord.Consumed {
		return errors.New("a record that was just written is not there; look for triggers on the table")
	}
	return nil
}
