package open

import (
	"context"
	"errors"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

// sqliteCauses: the first that fits counts.
var sqliteCauses = []cause{
	{says("Options.Table", `table "`), "store.sqlite.table", "the table is not one that can be used"},
	{func(error) bool { return true }, "store.sqlite.file", "the database cannot be used"},
}

func sqliteStore(ctx context.Context, c config.Config) (store.Store, func() error, error) {
	o := c.Store.SQLite
	ctx, cancel := bounded(ctx)
	defer cancel()
	s, err := sqlitestore.Open(ctx, o.File, sqlitestore.Options{
		Table:       o.Table,
		Synchronous: strings.ToUpper(o.Synchronous),
		BusyTimeout: o.BusyTimeout,
	})
	if err != nil {
		return nil, nil, explained(err, sqliteCauses)
	}
	stopSweep := func() {}
	if err = explained(s.Check(ctx), sqliteCauses); err == nil {
		stopSweep, err = keepSwept(s, c.Store.Sweep)
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, func() error {
		stopSweep()
		return s.Close()
	}, nil
}
