package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Schema is the statement that makes the table, for those who have a tool for
// migrations. It does nothing when there is a table of that name.
func (s *Store) Schema() string {
	source, err := sources.ReadFile("sql/" + s.layout.table + ".sql")
	if err != nil {
		panic(err) // the file is not in the program
	}
	return s.layout.fill(strings.TrimSpace(string(source)), s.table()) + ";\n"
}

func (s *Store) table() string { return "`" + s.options.Table + "`" }

// Plan returns the statements that make or mend the table, in their order, and
// none when it is as it should be. It changes nothing.
func (s *Store) Plan(ctx context.Context) ([]string, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, s.failed("plan", s.noConn(err))
	}
	defer conn.Close() // gives it back to the pool
	plan, err := s.plan(ctx, conn)
	if err != nil {
		return nil, s.failed("plan", err)
	}
	return plan, nil
}

// Migrate makes the table, or mends it in place. Any number of instances may
// call it at once: one works while the others wait, for as long as ctx allows.
// The user of the pool needs the right to create or to alter the table. A large
// table is copied by the server meanwhile, and must not be written to: stop its
// consumers, or run the statements of [Store.Plan] with a tool for such tables.
func (s *Store) Migrate(ctx context.Context) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.failed("migrate", s.noConn(err))
	}
	defer conn.Close() // gives it back to the pool
	if err := s.migrate(ctx, conn); err != nil {
		return s.failed("migrate", err)
	}
	return nil
}

func (s *Store) migrate(ctx context.Context, conn *sql.Conn) error {
	release, err := s.lock(ctx, conn, "schema", patience)
	if err != nil {
		return err
	}
	defer release()
	plan, err := s.plan(ctx, conn)
	if err != nil || len(plan) == 0 {
		return err
	}
	// A part of a name that does not fit must end the statement, not be cut; and
	// what the server does to other tables may hold this one up for a while.
	if _, err := conn.ExecContext(ctx, "SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'),"+
		" SESSION innodb_lock_wait_timeout = 50"); err != nil {
		return err
	}
	defer conn.Raw(func(any) error { return errBadConn }) // so that the next user has the pool's own settings
	for _, statement := range plan {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return s.tooLong(inStatement{err, statement})
		}
	}
	return nil
}

// inStatement is an error of a statement that holds no values and may be shown.
type inStatement struct {
	error
	statement string
}

func (e inStatement) Unwrap() error { return e.error }

// patience is how long, in seconds, an instance waits for another's migration,
// if its context lets it. A server ends the wait when the connection ends.
const patience = 3600

// lock takes a lock of the server's by name. It ends with the connection.
func (s *Store) lock(ctx context.Context, conn *sql.Conn, what string, seconds int) (release func(), err error) {
	name := "CONCAT('dedup." + what + ".', LEFT(SHA1(CONCAT(COALESCE(DATABASE(), ''), '." +
		s.options.Table + "')), 32))"
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+name+", "+strconv.Itoa(seconds)+")").Scan(&got); err != nil {
		return nil, err
	}
	if got.Int64 != 1 {
		return nil, errLocked
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if _, err := conn.ExecContext(ctx, "DO RELEASE_LOCK("+name+")"); err != nil {
			_ = conn.Raw(func(any) error { return errBadConn }) // the lock must not stay with the pool
		}
	}, nil
}

// column is one of the table, as its file in the folder sql defines it.
type column struct {
	name       string
	kind       string // in lower case, such as varbinary
	length     int64  // in bytes, 0 for numbers
	defaulted  bool
	definition string
}

var columnPattern = regexp.MustCompile(`(?m)^  ([a-z_]+) +([A-Z]+)(?:\((\d+)\))? +NOT NULL(.*?),$`)

func (l *layout) columns() []column {
	source, err := sources.ReadFile("sql/" + l.table + ".sql")
	if err != nil {
		panic(err) // the file is not in the program
	}
	var columns []column
	for _, m := range columnPattern.FindAllStringSubmatch(string(source), -1) {
		length, _ := strconv.ParseInt(m[3], 10, 64) // "" is 0: a number
		columns = append(columns, column{
			name: m[1], kind: strings.ToLower(m[2]), length: length,
			defaulted:  strings.Contains(m[4], " DEFAULT "),
			definition: strings.Join(strings.Fields(strings.TrimSuffix(m[0], ",")), " "),
		})
	}
	return columns
}

// plan compares the live table with the one that it should be.
func (s *Store) plan(ctx context.Context, conn *sql.Conn) ([]string, error) {
	live, err := s.inspect(ctx, conn)
	if err != nil {
		return nil, err
	}
	if obstacles := s.inTheWay(live); obstacles != nil && s.compat() {
		return nil, obstacles
	}
	return s.mend(live), nil
}

// mend returns the statements that make the live table what it should be.
func (s *Store) mend(live *live) []string {
	if live == nil {
		return []string{strings.TrimSpace(uncommented(strings.TrimSuffix(s.Schema(), ";\n")))}
	}
	var clauses []string
	for _, c := range live.changes(s.layout) {
		clauses = append(clauses, c.clause)
	}
	if len(clauses) == 0 {
		return nil
	}
	var statements []string
	if recoded := live.recoded(s.layout.names); s.compat() && len(recoded) > 0 {
		statements = append(statements, "ALTER TABLE "+s.table()+" "+strings.Join(recoded, ", "))
	}
	return append(statements, "ALTER TABLE "+s.table()+" "+strings.Join(clauses, ", "))
}

// inTheWay is a finding for each of what no statement of the plan mends.
func (s *Store) inTheWay(l *live) error {
	if l == nil {
		return nil
	}
	var errs []error
	for _, o := range l.obstacles(s.layout, s.table()) {
		errs = append(errs, &Finding{"table " + s.options.Table, o.problem, o.remedy})
	}
	return errors.Join(errs...)
}

func (s *Store) failed(op string, err error) error {
	if as[*Finding](err) {
		return err
	}
	class, _ := classify(err)
	return &store.Error{Driver: "mysqlstore", Op: op, Class: class, Err: cause(err, nil)}
}
