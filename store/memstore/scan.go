package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Scan lists records in the order in which they were added. Every page looks at
// all records of the store, which takes tenths of a second for a million of
// them; other calls go on meanwhile. Ask for large pages.
func (s *Store) Scan(ctx context.Context, q store.Query) (store.Page, error) {
	if err := q.Validate(); err != nil {
		return store.Page{}, err
	}
	p := page{query: q, application: store.Key{Application: q.Application}.Bounded().Application}
	if err := p.start(); err != nil {
		return store.Page{}, err
	}
	if err := s.visit(ctx, p.add); err != nil {
		return store.Page{}, failed("scan", err)
	}
	return p.result(), nil
}

// visit calls look, under the lock, with every record that stays meanwhile. It
// lets other calls in now and then: a map may change while it is ranged over.
func (s *Store) visit(ctx context.Context, look func(*record, instant)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, visited := s.now(), 0
	for _, r := range s.records.byKey {
		if visited++; visited%perLock == 0 {
			s.mu.Unlock()
			err := ctx.Err()
			s.mu.Lock()
			if err != nil {
				return err
			}
			now = s.now()
		}
		look(r, now)
	}
	return ctx.Err()
}

// page gathers the records with the smallest numbers after a position.
type page struct {
	query       store.Query
	application string // as in bounded keys
	after       uint64 // the number of the last record before the page
	until       uint64 // the highest number that still belongs to it, 0 if there is room
	rows        []row
}

type row struct {
	number uint64
	record store.Record
}

// start reads the position, the number of a record.
func (p *page) start() error {
	if p.query.After == "" {
		return nil
	}
	n, err := strconv.ParseUint(p.query.After, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != p.query.After {
		return fmt.Errorf("memstore: scan: %w: Query.After is %.40q, want the Next of a page",
			store.ErrInvalid, p.query.After)
	}
	p.after = n
	return nil
}

func (p *page) add(r *record, now instant) {
	switch {
	case r.expires <= now, r.number <= p.after, p.until != 0 && r.number > p.until:
	case p.application != "" && r.key.Application != p.application:
	case p.query.Status != 0 && r.status(now) != p.query.Status:
	case p.query.Overdue != 0 && r.leaseEnd().add(p.query.Overdue) > now:
	default:
		p.rows = append(p.rows, row{r.number, r.shown(now)})
		if len(p.rows) >= 2*p.query.Limit {
			p.cut()
		}
	}
}

// cut drops what does not fit.
func (p *page) cut() {
	slices.SortFunc(p.rows, func(a, b row) int { return cmp.Compare(a.number, b.number) })
	if len(p.rows) > p.query.Limit {
		p.rows = p.rows[:p.query.Limit]
		p.until = p.rows[p.query.Limit-1].number
	}
}

func (p *page) result() store.Page {
	p.cut()
	var result store.Page
	for _, r := range p.rows {
		result.Records = append(result.Records, r.record)
	}
	if p.until != 0 {
		result.Next = strconv.FormatUint(p.until, 10)
	}
	return result
}
