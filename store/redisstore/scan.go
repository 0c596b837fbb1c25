package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Scan lists records in an order that only the servers know. "Scans" in the
// package comment says what it costs and when a record may be shown again. A
// Store made by [NewJavaCompatible] cannot list its records: the error is
// Permanent and wraps [errors.ErrUnsupported].
func (s *Store) Scan(ctx context.Context, q store.Query) (store.Page, error) {
	err := q.Validate()
	p := s.newPlace(q.Limit)
	if err == nil && q.After != "" {
		p, err = s.parsePlace(q.After)
	}
	if err != nil {
		return store.Page{}, fmt.Errorf("redisstore: scan: %w", err)
	}
	if s.compat {
		return store.Page{}, notListed(fmt.Errorf("%w: the names of the Java original do not tell where a tag ends"+
			" and an id begins", errors.ErrUnsupported))
	}
	shown := s.scans.take(p.id)
	page, err := s.page(ctx, q, p, shown)
	if err != nil {
		s.scans.keep(p.id, shown) // for a repeat
		return store.Page{}, err
	}
	if p.end && len(p.names) == 0 {
		return page, nil
	}
	p.id = store.NewToken().String()
	s.scans.keep(p.id, shown)
	page.Next = p.String()
	return page, nil
}

// What one page asks for at most, so that it takes a bounded time however few
// records there are among the names of the servers.
const (
	mostRounds = 16
	mostStep   = 1024 // buckets or slots in one round
	mostLooks  = 1000 // records in one round trip
)

// page makes the page at p, and moves p to the next.
func (s *Store) page(ctx context.Context, q store.Query, p *place, shown *shown) (store.Page, error) {
	if err := s.gather(ctx, p, s.beginning(q.Application), q.Limit); err != nil {
		return store.Page{}, err
	}
	names := slices.DeleteFunc(p.take(q.Limit), shown.has)
	var page store.Page
	var found []string // the names of the page's records
	for part := range slices.Chunk(names, mostLooks) {
		calls := s.looks(ctx, q, part)
		for _, c := range calls {
			r, err := sight(c.result())
			if err != nil {
				return store.Page{}, err
			}
			if meets(&r, q) {
				r.Key, r.Hashed, _ = s.keyOf(c.name)
				page.Records, found = append(page.Records, r), append(found, c.name)
			}
		}
	}
	if s.limits.cluster {
		return page, nil // where each name is read once
	}
	for _, name := range found {
		shown.add(name)
	}
	return page, nil
}

// gather reads names until there are enough for a page, or until it has read for
// long enough.
func (s *Store) gather(ctx context.Context, p *place, beginning string, limit int) error {
	if err := ctx.Err(); err != nil {
		return failedScan(notSent{err})
	}
	more := s.keyspace
	if s.limits.cluster {
		more = s.slots
	}
	there := make(map[string]bool, len(p.names))
	for _, name := range p.names {
		there[name] = true
	}
	read, found := 0, 0
	for round := 0; round < mostRounds && len(p.names) < limit && !p.end; round++ {
		read += p.step
		names, err := more(ctx, p, beginning)
		if err != nil {
			return err
		}
		for _, name := range names {
			if _, _, ok := s.keyOf(name); ok && !there[name] {
				there[name] = true
				p.names = append(p.names, name)
				found++
			}
		}
		p.pace(read, found, limit-len(p.names))
	}
	p.pace(read, found, limit)
	return nil
}

// looks reads the records with these names, in one round trip if q asks for all,
// else in two.
func (s *Store) looks(ctx context.Context, q store.Query, names []string) []*call {
	calls := make([]*call, len(names))
	for i, name := range names {
		calls[i] = &call{op: "scan", script: lookScript, name: name}
		if q.Status != 0 {
			calls[i].set, calls[i].judge = []any{"get", name}, judgeLook(q.Status)
		}
	}
	s.do(ctx, calls)
	return calls
}

// meets reports whether q asks for the record. Its application has been asked for.
func meets(r *store.Record, q store.Query) bool {
	return r.Status != 0 && (q.Status == 0 || q.Status == r.Status) && (q.Overdue == 0 || -r.LeaseLeft >= q.Overdue)
}

// kinds are those of records that may have a status, 0 for what cannot be read.
var kinds = [...]string{
	store.StatusConsuming: "P", store.StatusLapsed: "PR", store.StatusConsumed: "D", store.StatusParked: "X",
	store.StatusCorrupt: "\x00",
}

// judgeLook leaves the values to the script that may be asked for: it is dearer
// than to read them, and most records are done while most scans are for others.
func judgeLook(status store.Status) func(*call, string, bool) []int64 {
	return func(_ *call, met string, found bool) []int64 {
		r, ok := decode(met)
		if !ok {
			r.kind = 0
		}
		if found && strings.IndexByte(kinds[status], r.kind) >= 0 {
			return nil
		}
		return nothing
	}
}

// nothing is the answer of lua/look.lua about what is not there.
var nothing = make([]int64, lookFields)

// failedScan is the failure to read names. It may be repeated.
func failedScan(err error) error {
	class, _ := classify(err)
	return &store.Error{Driver: "redisstore", Op: "scan", Class: class, Err: redacted(err)}
}

func notListed(err error) error {
	return &store.Error{Driver: "redisstore", Op: "scan", Class: store.Permanent, Err: err}
}
