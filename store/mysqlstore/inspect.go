package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// live is a table as the server describes it.
type live struct {
	engine  string
	columns map[string]liveColumn
	indexes map[string]*index
}

type liveColumn struct {
	kind      string // in lower case, such as varbinary
	length    int64  // in bytes
	unsigned  bool
	nullable  bool
	defaulted bool
	charset   string // of a text, "" for all else
	chars     int64  // of a text, its length in characters
}

type index struct {
	unique  bool
	partial bool // of a prefix of a column
	columns []string
}

// serves reports whether the column can be used as it is. A longer one can.
func (c liveColumn) serves(want column) bool {
	if c.nullable || c.unsigned || want.defaulted && !c.defaulted {
		return false
	}
	switch want.kind {
	case "int":
		return c.kind == "int" || c.kind == "bigint"
	case "binary":
		return c.kind == want.kind && c.length == want.length
	}
	return c.kind == want.kind && c.length >= want.length
}

// inspect describes the table, nil if there is none.
func (s *Store) inspect(ctx context.Context, conn *sql.Conn) (*live, error) {
	const where = " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '"
	table := s.options.Table + "'"
	l := &live{columns: map[string]liveColumn{}, indexes: map[string]*index{}}
	err := conn.QueryRowContext(ctx, "SELECT COALESCE(ENGINE, '') FROM information_schema.TABLES"+where+table).
		Scan(&l.engine)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := l.readColumns(ctx, conn, where+table); err != nil {
		return nil, err
	}
	return l, l.readIndexes(ctx, conn, where+table)
}

func (l *live) readColumns(ctx context.Context, conn *sql.Conn, where string) error {
	rows, err := conn.QueryContext(ctx, "SELECT COLUMN_NAME, LOWER(DATA_TYPE), COALESCE(CHARACTER_OCTET_LENGTH, 0),"+
		" LOCATE('unsigned', COLUMN_TYPE) > 0, IS_NULLABLE = 'YES', COLUMN_DEFAULT IS NOT NULL OR EXTRA <> '',"+
		" COALESCE(CHARACTER_SET_NAME, ''), COALESCE(CHARACTER_MAXIMUM_LENGTH, 0)"+
		" FROM information_schema.COLUMNS"+where)
	if err != nil {
		return err
	}
	defer rows.Close() // Err has what matters
	for rows.Next() {
		var name string
		var c liveColumn
		if err := rows.Scan(&name, &c.kind, &c.length, &c.unsigned, &c.nullable, &c.defaulted,
			&c.charset, &c.chars); err != nil {
			return err
		}
		l.columns[strings.ToLower(name)] = c
	}
	return rows.Err()
}

func (l *live) readIndexes(ctx context.Context, conn *sql.Conn, where string) error {
	rows, err := conn.QueryContext(ctx, "SELECT INDEX_NAME, NON_UNIQUE = 0, SUB_PART IS NOT NULL, LOWER(COLUMN_NAME)"+
		" FROM information_schema.STATISTICS"+where+" ORDER BY INDEX_NAME, SEQ_IN_INDEX")
	if err != nil {
		return err
	}
	defer rows.Close() // Err has what matters
	for rows.Next() {
		var name, column string
		var unique, partial bool
		if err := rows.Scan(&name, &unique, &partial, &column); err != nil {
			return err
		}
		i := l.indexes[name]
		if i == nil {
			i = &index{unique: unique}
			l.indexes[name] = i
		}
		i.partial = i.partial || partial
		i.columns = append(i.columns, column)
	}
	return rows.Err()
}

// keys returns the changes that give the table the keys it needs.
func (l *live) keys(want *layout) []string {
	var changes []string
	if !l.has(true, want.names[:want.keys]) {
		list := " (" + strings.Join(want.names[:want.keys], ", ") + ")"
		switch _, primary := l.indexes["PRIMARY"]; {
		case want.keys > 1:
			changes = append(changes, "ADD UNIQUE KEY dedup_uniq_key"+list)
		case primary:
			changes = append(changes, "DROP PRIMARY KEY", "ADD PRIMARY KEY"+list)
		default:
			changes = append(changes, "ADD PRIMARY KEY"+list)
		}
	}
	if !l.has(false, []string{"status", "expire_time"}) {
		changes = append(changes, "ADD KEY status_expire_time (status, expire_time)")
	}
	return changes
}

// has reports whether an index begins with the columns, or, if unique, is the
// unique one of exactly these.
func (l *live) has(unique bool, columns []string) bool {
	for _, i := range l.indexes {
		if i.partial || unique && (!i.unique || len(i.columns) != len(columns)) || len(i.columns) < len(columns) {
			continue
		}
		if slices.Equal(i.columns[:len(columns)], columns) {
			return true
		}
	}
	return false
}

// obstacles are what no statement of [Store.Plan] mends, because it is the
// user's: other unique keys, and columns that every INSERT would have to name.
func (l *live) obstacles(want *layout) []string {
	var found []string
	for name, i := range l.indexes {
		if i.unique && name != "PRIMARY" && !slices.Equal(i.columns, want.names[:want.keys]) {
			found = append(found, "another unique key, "+name+", on which records would meet; drop it")
		}
	}
	ours := map[string]bool{}
	for _, c := range want.columns() {
		ours[c.name] = true
	}
	for name, c := range l.columns {
		if !ours[name] && !c.nullable && !c.defaulted {
			found = append(found, "the column "+name+" has no default; give it one or make it nullable")
		}
	}
	if want != &native {
		found = append(found, l.notOriginals(want)...)
	}
	slices.Sort(found)
	return found
}
