package mysqlstore

import (
	"context"
	"database/sql/driver"
)

// fullStmt is what the prepared statements of the driver can do.
type fullStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
	driver.NamedValueChecker
}

// watchedStmt is a statement of a watchedConn.
type watchedStmt struct {
	fullStmt
	conn   *watchedConn
	silent bool
}

// ExecContext executes the statement.
func (s watchedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.conn.refused(); err != nil {
		return nil, err
	}
	s.conn.unwatched(s.silent)
	result, err := s.fullStmt.ExecContext(ctx, args)
	return result, s.conn.note(err)
}

// QueryContext executes the query.
func (s watchedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.refused(); err != nil {
		return nil, err
	}
	s.conn.unwatched(s.silent)
	rows, err := s.fullStmt.QueryContext(ctx, args)
	return s.conn.rows(rows, err)
}

// fullRows is what the results of the driver can do.
type fullRows interface {
	driver.Rows
	driver.RowsNextResultSet
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

// watchedRows are rows of a watchedConn: a query that waits for locks may fail at
// any of them.
type watchedRows struct {
	fullRows
	conn *watchedConn
}

// rows notes err, and without one has the rows of a query watched if a transaction
// is.
func (c *watchedConn) rows(rows driver.Rows, err error) (driver.Rows, error) {
	if err != nil || c.watch == nil {
		return rows, c.note(err)
	}
	if full, ok := rows.(fullRows); ok {
		return &watchedRows{full, c}, nil
	}
	c.unwatched(true)
	return rows, nil
}

// Next reads a row.
func (r *watchedRows) Next(into []driver.Value) error { return r.conn.note(r.fullRows.Next(into)) }

// NextResultSet goes to the next result.
func (r *watchedRows) NextResultSet() error { return r.conn.note(r.fullRows.NextResultSet()) }

// Close reads what is left.
func (r *watchedRows) Close() error { return r.conn.note(r.fullRows.Close()) }
