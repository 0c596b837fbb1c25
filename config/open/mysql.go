package open

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/config"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

func mysqlStore(ctx context.Context, c config.Config) (store.Store, func() error, error) {
	options, err := driverOptions(c.Store.MySQL)
	if err != nil {
		return nil, nil, err
	}
	db, s, err := overPool(options, c.Store.MySQL)
	if err != nil {
		return nil, nil, err
	}
	stopSweep := func() {}
	if err = startMySQL(ctx, db, s, options, c.Store.MySQL); err == nil {
		stopSweep, err = keepSwept(s, c.Store.Sweep)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return s, func() error {
		stopSweep()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = s.Wait(ctx) // a claim that is cut off costs its key one lease
		return db.Close()
	}, nil
}

// overPool returns a store and the pool that it is over.
func overPool(options *mysql.Config, c config.MySQL) (*sql.DB, *mysqlstore.Store, error) {
	connector, err := mysql.NewConnector(options)
	if err != nil {
		return nil, nil, refusedDSN(err)
	}
	db := sql.OpenDB(mysqlstore.Connector(connector))
	db.SetMaxOpenConns(c.MaxOpen)
	db.SetMaxIdleConns(cmp.Or(c.MaxIdle, c.MaxOpen))
	db.SetConnMaxLifetime(c.MaxLifetime)
	newStore := mysqlstore.New
	if c.JavaCompatible {
		newStore = mysqlstore.NewJavaCompatible
	}
	s, err := newStore(db, storeOptions(c))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open: %w", err), db.Close())
	}
	return db, s, nil
}

func storeOptions(c config.MySQL) mysqlstore.Options {
	o := mysqlstore.Options{Table: c.Table, Retries: c.Retries}
	if c.Retries == 0 {
		o.Retries = -1 // which says never
	}
	if c.JavaCompatible {
		o.Skew = c.Skew
	}
	return o
}

// startMySQL connects, makes the table if c wants that, and checks everything.
func startMySQL(
	ctx context.Context, db *sql.DB, s *mysqlstore.Store, options *mysql.Config, c config.MySQL,
) error {
	first, cancel := bounded(ctx)
	defer cancel()
	err := db.PingContext(first)
	if err == nil && c.Migrate {
		err = migrate(ctx, options, c)
	}
	if err == nil {
		check, cancel := bounded(ctx)
		defer cancel()
		err = s.Check(check)
	}
	return explained(err, mysqlCauses(c))
}

// migrate makes or mends the table over a pool of its own, whose connections wait
// for an answer as long as ctx lets them: a large table is copied meanwhile, or
// another instance is at it.
func migrate(ctx context.Context, options *mysql.Config, c config.MySQL) error {
	patient := options.Clone()
	patient.ReadTimeout = 0
	db, s, err := overPool(patient, c)
	if err != nil {
		return err
	}
	return errors.Join(s.Migrate(ctx), db.Close())
}

// lockWait is how long a statement waits for a row that somebody keeps locked.
const lockWait = "innodb_lock_wait_timeout"

// driverOptions are those of a DSN with what it leaves out, or of the fields.
// Neither these options nor a DSN made of them may be printed.
func driverOptions(c config.MySQL) (*mysql.Config, error) {
	encryption, err := c.TLS.Config()
	if err != nil {
		return nil, fmt.Errorf("store.mysql.tls: %w", err)
	}
	o := mysql.NewConfig()
	o.Net, o.Addr, o.DBName, o.User, o.Passwd = "tcp", c.Address, c.Database, c.Username, c.Password.Reveal()
	if c.DSN != "" {
		if o, err = mysql.ParseDSN(c.DSN.Reveal()); err != nil {
			return nil, refusedDSN(err)
		}
	}
	if encryption != nil {
		o.TLS = encryption
	}
	o.Timeout = cmp.Or(o.Timeout, c.DialTimeout)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, c.ReadTimeout)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, c.WriteTimeout)
	for name := range o.Params {
		if strings.EqualFold(name, lockWait) {
			return o, nil
		}
	}
	if o.Params == nil {
		o.Params = map[string]string{}
	}
	o.Params[lockWait] = "1"
	return o, nil
}

// refusedDSN tells what the driver tells, unless it repeats what the DSN says,
// which may be its password.
func refusedDSN(err error) error {
	text := "the driver cannot read it; look at the values of its parameters"
	if reason, ok := strings.CutPrefix(err.Error(), "invalid DSN: "); ok {
		text = reason
	}
	return config.Problems{{Source: "config", Field: "store.mysql.dsn", Text: text}}
}

// mysqlCauses: the first that fits counts. What a DSN says is a matter of the DSN.
func mysqlCauses(c config.MySQL) []cause {
	const own, encryption = "store.mysql.", "store.mysql.tls."
	address, database, username, password := own+"address", own+"database", own+"username", own+"password"
	refused := "the server refused the user or the password"
	if !c.TLS.Enabled {
		refused += ", or wants TLS" // which MariaDB does not tell apart
	}
	if c.DSN != "" {
		address, database, username, password = own+"dsn", own+"dsn", own+"dsn", own+"dsn"
	}
	return append([]cause{
		{mysqlFinding("innodb_lock_wait_timeout"), own + "dsn", "calls would wait too long"},
		{mysqlFinding("autocommit"), own + "dsn", "nothing would be kept"},
		{mysqlFinding("read_only"), address, "the server is a replica"},
		{mysqlFinding("server"), address, "the server is not one that can be used"},
		{both(mysqlFinding("table "), says("; call Migrate")), own + "migrate", "the table is not as it should be"},
		{mysqlFinding("table "), own + "table", "the table is not one that can be used"},
		{numbered(1044, 1049), database, "the server has no such database, or the user may not use it"},
		{numbered(1045, 1698, 1251, 1524, 1820, 1862), password, refused},
		{numbered(1142, 1143, 1227), username, "the user lacks a right; the comment of package mysqlstore has the list"},
		{numbered(1040, 1203), own + "max_open", "the server has too many connections"},
		{numbered(1193, 1231), own + "dsn", "the server does not know a parameter, or its value"},
		{numbered(3159, 4031), encryption + "enabled", "the server wants TLS"},
		{is(mysql.ErrNoTLS), encryption + "enabled", "the server does not speak TLS"},
	}, append(tlsCauses(encryption),
		cause{as[*mysql.MySQLError], address, "the server refused"},
		cause{either(is(context.DeadlineExceeded), is(mysql.ErrInvalidConn), anyNet), address, "no server answers there"},
	)...)
}

func mysqlFinding(field string) func(error) bool {
	return func(err error) bool {
		var f *mysqlstore.Finding
		return errors.As(err, &f) && strings.HasPrefix(f.Field, field)
	}
}

// numbered matches what a server answers.
func numbered(numbers ...uint16) func(error) bool {
	return func(err error) bool {
		var answer *mysql.MySQLError
		return errors.As(err, &answer) && slices.Contains(numbers, answer.Number)
	}
}
