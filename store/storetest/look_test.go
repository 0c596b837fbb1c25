package storetest_test

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

func (s *reference) Get(ctx context.Context, k store.Key) (r store.Record, err error) {
	err = s.on(ctx, k, k.Validate(), func(rec *record) error {
		if r = s.show(rec); r.Status == 0 {
			return store.ErrNoRecord
		}
		return nil
	})
	return r, err
}

func (s *reference) Forget(ctx context.Context, k store.Key) error {
	return s.on(ctx, k, k.Validate(), func(rec *record) error { return s.forget(rec) })
}

func (s *reference) Scan(ctx context.Context, q store.Query) (store.Page, error) {
	if err := s.check(ctx, q.Validate()); err != nil {
		return store.Page{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scan(s, q)
}

func (s *reference) Sweep(ctx context.Context, limit int) (int, error) {
	var invalid error
	if limit < 1 {
		invalid = fmt.Errorf("%w: limit is %d", store.ErrInvalid, limit)
	}
	if err := s.check(ctx, invalid); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sweep(s, limit), nil
}

// show is the record as people see it, a zero one for an absent one.
func show(rec *record) store.Record {
	if rec.state == "" || rec.expired() {
		return store.Record{}
	}
	r := store.Record{Token: rec.token, Attempt: rec.attempt, Fence: rec.fence, ExpiresIn: time.Until(rec.expires)}
	r.Key, r.Hashed = rec.key.Unbounded()
	switch rec.state {
	case inFlight, givenBack:
		r.Status = store.StatusLapsed
		if rec.state == inFlight && !rec.lapsed() {
			r.Status = store.StatusConsuming
		}
		r.Lease, r.Horizon, r.LeaseLeft = rec.lease, rec.horizon, time.Until(rec.until)
	case done:
		r.Status = store.StatusConsumed
	case parked:
		r.Status = store.StatusParked
	default:
		r.Status = store.StatusCorrupt
	}
	return r
}

func forget(rec *record) error {
	switch {
	case rec.state == "":
		return store.ErrNoRecord
	case rec.state == inFlight && !rec.lapsed():
		return store.ErrInFlight
	}
	*rec = record{}
	return nil
}

// scan looks at the records in the order of their names. The position is the
// name of the last one, in hex.
func scan(s *reference, q store.Query) (store.Page, error) {
	after, err := position(q.After)
	if err != nil {
		return store.Page{}, err
	}
	names := slices.Sorted(maps.Keys(s.records))
	names = slices.DeleteFunc(names, func(name string) bool { return name <= after })
	return s.page(q, names, func(last string) string { return hex.EncodeToString([]byte(last)) }), nil
}

// page shows what q asks for among the first Limit records of these names.
func (s *reference) page(q store.Query, names []string, next func(last string) string) (p store.Page) {
	looked := min(max(q.Limit, 0), len(names))
	for _, name := range names[:looked] {
		if r := s.show(s.records[name]); asked(q, r, s.records[name].key) {
			p.Records = append(p.Records, r)
		}
	}
	if 0 < looked && looked < len(names) {
		p.Next = next(names[looked-1])
	}
	return p
}

func asked(q store.Query, r store.Record, bounded store.Key) bool {
	application := store.Key{Application: q.Application}.Bounded().Application
	return r.Status != 0 && (application == "" || application == bounded.Application) &&
		(q.Status == 0 || q.Status == r.Status) && (q.Overdue == 0 || -r.LeaseLeft >= q.Overdue)
}

func position(after string) (string, error) {
	if after == "" {
		return "", nil
	}
	name, err := hex.DecodeString(after)
	if err != nil || strings.Count(string(name), ":") != 3 {
		return "", fmt.Errorf("%w: Query.After is %.40q", store.ErrInvalid, after)
	}
	return string(name), nil
}

func sweep(s *reference, limit int) int { return s.remove(s.expired(), limit) }

// remove removes at most limit of the records and returns how many.
func (s *reference) remove(names []string, limit int) int {
	names = names[:max(0, min(limit, len(names)))]
	for _, name := range names {
		delete(s.records, name)
	}
	return len(names)
}

// expired are the names of records to sweep, the longest expired first.
func (s *reference) expired() []string {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(s.records)), func(name string) bool {
		return !s.records[name].expired()
	})
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(s.records[a].expires.Compare(s.records[b].expires), strings.Compare(a, b))
	})
	return names
}
