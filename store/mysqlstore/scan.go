package mysqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// Get reads the record of k.
func (s *Store) Get(ctx context.Context, k store.Key) (store.Record, error) {
	if err := k.Validate(); err != nil {
		return store.Record{}, fmt.Errorf("mysqlstore: get: %w", err)
	}
	var c call
	s.call(&c, 0, k, store.Token{})
	entries, err := s.entries(ctx, string(s.appendKey(nil, &c)))
	switch {
	case err != nil:
		return store.Record{}, s.failed("get", err)
	case len(entries) == 0 || entries[0].absent:
		return store.Record{}, store.ErrNoRecord
	}
	return entries[0].record, nil
}

// Scan lists records, those of one status in the order of their expiry.
func (s *Store) Scan(ctx context.Context, q store.Query) (store.Page, error) {
	err := q.Validate()
	var at cursor
	stages := s.layout.stages[q.Status]
	if err == nil {
		at, err = s.parseCursor(q.After, len(stages))
	}
	if err != nil {
		return store.Page{}, fmt.Errorf("mysqlstore: scan: %w", err)
	}
	if q.Application != "" {
		stored, _ := s.stored(store.Key{Application: q.Application})
		q.Application = stored.Application
	}
	var page store.Page
	for left := q.Limit; left > 0; {
		entries, err := s.entries(ctx, s.after(at, stages)+" LIMIT "+strconv.Itoa(left))
		if err != nil {
			return store.Page{}, s.failed("scan", err)
		}
		for _, e := range entries {
			if !e.absent && e.meets(q) {
				page.Records = append(page.Records, e.record)
			}
		}
		if left -= len(entries); left == 0 {
			last := entries[len(entries)-1]
			page.Next = cursor{at.stage, last.expires, last.names}.String()
		} else if at.stage++; at.stage >= len(stages) {
			break
		}
		at = cursor{stage: at.stage}
	}
	return page, nil
}

// entry is a row as sql/scan.sql returns it.
type entry struct {
	names       []string // of the primary key
	application string   // as it is stored
	expires     int64
	absent      bool
	record      store.Record
}

// meets reports whether the query asks for the record.
func (e *entry) meets(q store.Query) bool {
	if q.Application != "" && e.application != q.Application {
		return false
	}
	return (q.Status == 0 || e.record.Status == q.Status) && (q.Overdue == 0 || -e.record.LeaseLeft >= q.Overdue)
}

// entries reads the rows that meet a condition.
func (s *Store) entries(ctx context.Context, where string) ([]entry, error) {
	rows, err := s.db.QueryContext(ctx, s.texts.scan[0]+where+s.texts.scan[1])
	if err != nil {
		return nil, err
	}
	defer rows.Close() // Err has what matters
	var entries []entry
	for rows.Next() {
		e, err := s.entry(rows)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

func (s *Store) entry(rows *sql.Rows) (entry, error) {
	names := make([]string, len(s.layout.names))
	targets := make([]any, 0, 15)
	for i := range names {
		targets = append(targets, &names[i])
	}
	var state string
	var owner []byte
	var attempts, lease, horizon, fence, expires, leaseLeft, left int64
	var absent bool
	targets = append(targets, &state, &owner, &attempts, &lease, &horizon, &fence, &expires, &leaseLeft, &left, &absent)
	if err := rows.Scan(targets...); err != nil {
		return entry{}, err
	}
	parts := names[len(names)-4:]
	e := entry{names: names[:s.layout.keys], application: parts[0], expires: expires, absent: absent}
	key := store.Key{Application: parts[0], Topic: parts[1], Tag: parts[2], ID: parts[3]}
	e.record.Key, e.record.Hashed = s.shown(key)
	e.record.Attempt, e.record.Fence = int(attempts), fence
	copy(e.record.Token[:], owner)
	e.record.ExpiresIn = duration(left)
	e.record.Status = statusOf(state, leaseLeft > 0)
	switch e.record.Status {
	case store.StatusConsuming, store.StatusLapsed:
		e.record.Lease, e.record.Horizon = duration(lease), duration(horizon)
		e.record.LeaseLeft, e.record.ExpiresIn = duration(leaseLeft), duration(leaseLeft+horizon)
	case store.StatusCorrupt:
		e.record = store.Record{Key: e.record.Key, Hashed: e.record.Hashed, Status: store.StatusCorrupt}
	}
	return e, nil
}

func statusOf(state string, live bool) store.Status {
	switch {
	case state == sqlrecord.Consuming && live:
		return store.StatusConsuming
	case state == sqlrecord.Consuming, state == sqlrecord.Released:
		return store.StatusLapsed
	case state == sqlrecord.Consumed:
		return store.StatusConsumed
	case state == sqlrecord.Parked:
		return store.StatusParked
	}
	return store.StatusCorrupt
}

// shown is a key that the table holds, as callers know it.
func (s *Store) shown(stored store.Key) (k store.Key, hashed bool) {
	if !s.compat() {
		return stored.Unbounded()
	}
	for _, part := range []*string{&stored.Application, &stored.Topic, &stored.Tag, &stored.ID} {
		var digest bool
		*part, digest = javaShown(*part)
		hashed = hashed || digest
	}
	return stored, hashed
}

func duration(ms int64) time.Duration {
	const most = int64(1) << 43 // 278 years, which are milliseconds and still a Duration
	return time.Duration(max(-most, min(ms, most))) * time.Millisecond
}

// cursor is where a scan stands: after a row of a stage, or before its first.
type cursor struct {
	stage   int
	expires int64
	names   []string // of the primary key; empty before the first row
}

// String is the cursor as parseCursor reads it.
func (c cursor) String() string {
	text := fmt.Sprintf("%d.%d", c.stage, c.expires)
	for _, name := range c.names {
		text += fmt.Sprintf(".%x", name)
	}
	return text
}

func (s *Store) parseCursor(text string, stages int) (cursor, error) {
	if text == "" {
		return cursor{}, nil
	}
	fields := strings.Split(text, ".")
	invalid := fmt.Errorf("%w: Query.After is not the Next of a page of this query", store.ErrInvalid)
	if len(fields) != 2+s.layout.keys {
		return cursor{}, invalid
	}
	var c cursor
	var errStage, errExpires error
	c.stage, errStage = strconv.Atoi(fields[0])
	c.expires, errExpires = strconv.ParseInt(fields[1], 10, 64)
	if errStage != nil || errExpires != nil || c.stage < 0 || c.stage >= max(stages, 1) {
		return cursor{}, invalid
	}
	for _, field := range fields[2:] {
		name, err := hexString(field)
		if err != nil {
			return cursor{}, invalid
		}
		c.names = append(c.names, name)
	}
	return c, nil
}

// after is the condition and the order of the rows after at.
func (s *Store) after(at cursor, stages []string) string {
	key := strings.Join(s.layout.names[:s.layout.keys], ", ")
	if len(stages) == 0 {
		if at.names == nil {
			return "1 ORDER BY " + key
		}
		return s.greater(at.names) + " ORDER BY " + key
	}
	where := "status = '" + stages[at.stage] + "'"
	if at.names != nil {
		e := strconv.FormatInt(at.expires, 10)
		where += " AND expire_time >= " + e + " AND (expire_time > " + e + " OR " + s.greater(at.names) + ")"
	}
	return where + " ORDER BY expire_time, " + key
}

// greater is the condition of the rows whose primary key is after names. A
// comparison of whole rows would be shorter, but no server here looks it up in
// the index.
func (s *Store) greater(names []string) string {
	text := ""
	for i := len(names) - 1; i >= 0; i-- {
		column, value := s.layout.names[i], string(appendHex(nil, names[i]))
		if text == "" {
			text = column + " > " + value
			continue
		}
		text = column + " >= " + value + " AND (" + column + " > " + value + " OR " + text + ")"
	}
	return "(" + text + ")"
}
