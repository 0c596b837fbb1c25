package sqlitestore

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed schema.sql
var schema string

// schemaVersion is what the table named Table_schema says.
const schemaVersion = 1

// columns are those that every statement here names.
var columns = []struct{ name, kind string }{
	{"key_hash", "BLOB"}, {"application", "BLOB"}, {"topic", "BLOB"}, {"tag", "BLOB"}, {"id", "BLOB"},
	{"status", "TEXT"}, {"owner", "BLOB"}, {"attempts", "INTEGER"}, {"lease_ms", "INTEGER"},
	{"horizon_ms", "INTEGER"}, {"keep_ms", "INTEGER"}, {"fence", "INTEGER"}, {"expire_time", "INTEGER"},
}

// ensureSchema judges the tables if they are there and creates what is missing.
// Processes that start together agree, because all of it is one write
// transaction, which the caller begins and ends.
func ensureSchema(ctx context.Context, c *sql.Conn, table string) error {
	kinds, err := kindsOf(ctx, c, table)
	if err != nil {
		return err
	}
	for name, kind := range kinds {
		if want := belongings[strings.TrimPrefix(name, strings.ToLower(table))]; kind != want {
			return fmt.Errorf("%q is of the kind %s, want %s; %s", name, kind, want, remedy(table))
		}
	}
	if len(kinds) > 0 {
		if err := checkColumns(ctx, c, table); err != nil {
			return err
		}
	}
	if _, err := c.ExecContext(ctx, strings.ReplaceAll(schema, `"dedup_record`, `"`+table)); err != nil {
		return err
	}
	return checkVersion(ctx, c, table)
}

// belongings are what the schema creates, by what follows the name of the table.
var belongings = map[string]string{"": "table", "_schema": "table", "_expiry": "index"}

// kindsOf tells which of the belongings exist, in lower case, and what they are.
func kindsOf(ctx context.Context, c *sql.Conn, table string) (map[string]string, error) {
	rows, err := c.QueryContext(ctx, `SELECT lower(name), type FROM sqlite_schema
		WHERE lower(name) IN (lower(?1), lower(?1 || '_schema'), lower(?1 || '_expiry'))`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	kinds := map[string]string{}
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			return nil, err
		}
		kinds[name] = kind
	}
	return kinds, rows.Err()
}

// checkVersion refuses a table that a later version has made its own.
func checkVersion(ctx context.Context, c *sql.Conn, table string) error {
	var version int
	err := c.QueryRowContext(ctx, `SELECT max(version) FROM "`+table+`_schema"`).Scan(&version)
	if err == nil && version > schemaVersion {
		err = fmt.Errorf("table %q is of version %d, and this program knows up to %d; update the program",
			table, version, schemaVersion)
	}
	return err
}

// checkColumns compares the columns and the key of an existing table with what
// the statements here need. Columns that others have added do not matter.
func checkColumns(ctx context.Context, c *sql.Conn, table string) error {
	found, err := columnsOf(ctx, c, table)
	if err != nil {
		return err
	}
	var wrong []string
	for _, want := range columns {
		if got := found[want.name]; got != want.kind {
			wrong = append(wrong, fmt.Sprintf("%s is %s, want %s", want.name, orNothing(got), want.kind))
		}
	}
	if key := found[primaryKey]; key != "key_hash" {
		wrong = append(wrong, fmt.Sprintf("the primary key is %s, want key_hash", orNothing(key)))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("table %q has another shape: %s; %s", table, strings.Join(wrong, ", "), remedy(table))
	}
	return nil
}

// primaryKey is no name of a column.
const primaryKey = ""

// columnsOf maps the columns to their types, and primaryKey to the columns of
// the key.
func columnsOf(ctx context.Context, c *sql.Conn, table string) (map[string]string, error) {
	rows, err := c.QueryContext(ctx, `SELECT name, type, pk FROM pragma_table_info(?) ORDER BY pk`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, kind string
		var place int
		if err := rows.Scan(&name, &kind, &place); err != nil {
			return nil, err
		}
		found[name] = strings.ToUpper(kind)
		if place > 0 {
			found[primaryKey] = strings.TrimPrefix(found[primaryKey]+", "+name, ", ")
		}
	}
	return found, rows.Err()
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func remedy(table string) string {
	return fmt.Sprintf("give Options.Table another name, or rename %q out of the way", table)
}
