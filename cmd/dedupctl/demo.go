package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config/open"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/sample/quickstart/demo"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/redisstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sqlitestore"
)

const demoStores = "memory, sqlite:FILE or redis://[user:password@]host:port[/db]"

// demo is the quickstart with a choice of store.
func (t *tool) demo(ctx context.Context, args []string) (err error) {
	var s demo.Settings
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	s.Flags(f)
	where := f.String("store", "memory", "`STORE` of the records: "+demoStores)
	f.StringVar(&s.Ledger, "ledger", "",
		"count the runs in `FILE`, too: a demo that was killed is played on, and nothing\n"+
			"that was recorded may run again (default with sqlite:FILE and without -namesrv: FILE.ledger)")
	if err := t.parse(f, args); err != nil {
		return err
	}
	file, isFile := strings.CutPrefix(*where, "sqlite:")
	if isFile && s.Ledger == "" && s.NameServer == "" {
		s.Ledger = file + ".ledger"
	}
	if err := s.Validate(); err != nil {
		return usageError("demo: " + strings.ReplaceAll(err.Error(), "\n", ", "))
	}
	open.LogTo(slog.New(slog.DiscardHandler)) // the clients tell of every cut connection
	records, closeRecords, err := demoStore(ctx, *where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRecords()) }()
	return demo.Run(ctx, s, records, t.stdout, t.stderr)
}

// demoStore returns the store that -store names, and what closes it.
func demoStore(ctx context.Context, where string) (demo.Records, func() error, error) {
	if where == "memory" {
		records, err := memstore.New(memstore.Options{})
		return records, func() error { return nil }, err
	}
	if file, ok := strings.CutPrefix(where, "sqlite:"); ok && file != "" {
		return demoSQLite(ctx, file)
	}
	if o, err := redis.ParseURL(where); err == nil {
		return demoRedis(ctx, o)
	}
	// Without the text itself, which may hold a password.
	return nil, nil, usageError("demo: -store wants " + demoStores)
}

// demoSQLite opens the file, with a time that fits the short lease.
func demoSQLite(ctx context.Context, file string) (demo.Records, func() error, error) {
	records, err := sqlitestore.Open(ctx, file, sqlitestore.Options{Table: "dedup_demo", BusyTimeout: demo.Lease / 4})
	if err != nil {
		return nil, nil, err
	}
	return records, records.Close, nil
}

// demoRedis opens the server, with times that fit the short lease.
func demoRedis(ctx context.Context, o *redis.Options) (demo.Records, func() error, error) {
	o.ContextTimeoutEnabled = true
	o.DialerRetries = 1
	o.MaxRetries = 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = time.Second, demo.Lease/10, demo.Lease/10
	client := redis.NewClient(o)
	records, err := redisstore.New(client, redisstore.Options{Prefix: "dedup-demo:", MinLease: demo.Lease})
	if err == nil {
		err = records.Check(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return records, client.Close, nil
}
