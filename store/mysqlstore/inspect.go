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
	view    bool
	columns map[string]liveColumn
	indexes map[string]*index
}

type liveColumn struct {
	kind      string // in lower case, such as varbinary
	declared  string // such as varbinary(256)
	length    int64  // in bytes
	unsigned  bool
	nullable  bool
	defaulted bool
	charset   string // of a text, "" for all else
	chars     int64  // of a text, its length in characters
	automatic bool   // AUTO_INCREMENT
}

// change is something about a table that is not as it should be, and the part of
// an ALTER TABLE that mends it.
type change struct{ problem, clause string }

// obstacle is something that is the user's to remove.
type obstacle struct{ problem, remedy string }

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
	err := conn.QueryRowContext(ctx, "SELECT COALESCE(ENGINE, ''), TABLE_TYPE = 'VIEW' FROM information_schema.TABLES"+
		where+table).Scan(&l.engine, &l.view)
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
		" COLUMN_TYPE, LOCATE('unsigned', COLUMN_TYPE) > 0, IS_NULLABLE = 'YES',"+
		" COLUMN_DEFAULT IS NOT NULL OR EXTRA <> '', LOCATE('auto_increment', EXTRA) > 0,"+
		" COALESCE(CHARACTER_SET_NAME, ''), COALESCE(CHARACTER_MAXIMUM_LENGTH, 0)"+
		" FROM information_schema.COLUMNS"+where)
	if err != nil {
		return err
	}
	defer rows.Close() // Err has what matters
	for rows.Next() {
		var name string
		var c liveColumn
		err := rows.Scan(&name, &c.kind, &c.length, &c.declared, &c.unsigned, &c.nullable, &c.defaulted, &c.automatic,
			&c.charset, &c.chars)
		if err != nil {
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

// problem is all that is wrong with the table, nil if there is none, in words.
func (l *live) problem(want *layout) string {
	if l == nil {
		return "it is missing"
	}
	var problems []string
	for _, c := range l.changes(want) {
		problems = append(problems, c.problem)
	}
	return strings.Join(problems, ", ")
}

// changes are what the table needs.
func (l *live) changes(want *layout) []change {
	var changes []change
	for _, c := range want.columns() {
		switch have, found := l.columns[c.name]; {
		case !found:
			changes = append(changes, change{"column " + c.name + " is missing", "ADD COLUMN " + c.definition})
		case !have.serves(c):
			changes = append(changes, change{"column " + c.name + " is " + have.String(), "MODIFY COLUMN " + c.definition})
		}
	}
	if l.engine != "InnoDB" {
		changes = append(changes, change{"the engine is " + l.engine, "ENGINE=InnoDB"})
	}
	return append(changes, l.keys(want)...)
}

// String is the column as an ALTER TABLE would have it.
func (c liveColumn) String() string {
	text := c.declared
	if !c.nullable {
		text += " NOT NULL"
	}
	if !c.defaulted {
		return text + " without a default"
	}
	return text
}

// keys are the changes that give the table the keys it needs.
func (l *live) keys(want *layout) []change {
	var changes []change
	if key := want.names[:want.keys]; !l.has(true, key) {
		list := " (" + strings.Join(key, ", ") + ")"
		c := change{"it has no unique key" + list, "ADD UNIQUE KEY dedup_uniq_key" + list}
		if want.keys == 1 {
			c = change{"it has no primary key" + list, l.dropPrimary() + "ADD PRIMARY KEY" + list}
		}
		changes = append(changes, c)
	}
	if !l.has(false, []string{"status", "expire_time"}) {
		changes = append(changes, change{"it has no index (status, expire_time)",
			"ADD KEY status_expire_time (status, expire_time)"})
	}
	return changes
}

// dropPrimary makes room for another primary key. A column that counts by itself
// needs an index.
func (l *live) dropPrimary() string {
	primary, found := l.indexes["PRIMARY"]
	if !found {
		return ""
	}
	if first := primary.columns[0]; l.columns[first].automatic {
		return "DROP PRIMARY KEY, ADD KEY dedup_counter (" + quoted(first) + "), "
	}
	return "DROP PRIMARY KEY, "
}

func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

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

// obstacles are what [Store.Plan] leaves alone, because it is the user's: other
// unique keys, and columns that every INSERT would have to name.
func (l *live) obstacles(want *layout, table string) []obstacle {
	alter := "run: ALTER TABLE " + table + " "
	var found []obstacle
	for name, i := range l.indexes {
		// Plan replaces the primary key of a table of ours.
		replaced := name == "PRIMARY" && (want.keys == 1 || l.columns[i.columns[0]].automatic)
		if !i.unique || replaced || slices.Equal(i.columns, want.names[:want.keys]) && !i.partial {
			continue
		}
		drop := "DROP INDEX " + quoted(name)
		if name == "PRIMARY" {
			drop = "DROP PRIMARY KEY"
		}
		found = append(found, obstacle{"records would meet on another unique key, " + name, alter + drop})
	}
	ours := map[string]bool{}
	for _, c := range want.columns() {
		ours[c.name] = true
	}
	for name, c := range l.columns {
		if !ours[name] && !c.nullable && !c.defaulted {
			found = append(found, obstacle{"column " + name + " is not ours and has no default",
				alter + "MODIFY COLUMN " + quoted(name) + " " + c.declared + " NULL"})
		}
	}
	if want != &native {
		found = append(found, l.notOriginals(want)...)
	}
	slices.SortFunc(found, func(a, b obstacle) int { return strings.Compare(a.problem, b.problem) })
	return found
}
