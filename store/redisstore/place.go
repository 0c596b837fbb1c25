package redisstore

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// place is where a scan stands between two pages. It says all that is needed to
// go on, in another process, too.
type place struct {
	id    string   // of this place alone; "" before the first page
	run   string   // of the server that gave at, "" for a cluster
	at    uint64   // the cursor of SCAN, or the next slot of a cluster
	end   bool     // there is nothing at or after at
	begun int      // how often the scan has begun anew, because run had changed
	step  int      // how many buckets or slots to read at once
	names []string // that were read and are not yet looked at
}

func (s *Store) newPlace(limit int) *place {
	if s.limits.cluster {
		return &place{step: 1}
	}
	return &place{step: min(limit, mostStep)}
}

// take takes up to limit names.
func (p *place) take(limit int) []string {
	n := min(limit, len(p.names))
	taken := p.names[:n]
	p.names = p.names[n:]
	return taken
}

// pace chooses how many buckets or slots to read at once, so that they have about
// as many names as are wanted: what is too many is carried along from page to page.
func (p *place) pace(read, found, wanted int) {
	switch {
	case found > 0:
		p.step = max(1, min(wanted*read/found, mostStep))
	case read > 0:
		p.step = min(8*p.step, mostStep)
	}
}

// String is the place as parsePlace reads it.
func (p *place) String() string {
	at := strconv.FormatUint(p.at, 10)
	if p.end {
		at = "end"
	}
	fields := []string{p.id, p.run, at, strconv.Itoa(p.begun), strconv.Itoa(p.step)}
	for _, name := range p.names {
		fields = append(fields, base64.RawURLEncoding.EncodeToString([]byte(name)))
	}
	return strings.Join(fields, ".")
}

func (s *Store) parsePlace(text string) (*place, error) {
	invalid := fmt.Errorf("%w: Query.After is not the Next of a page of this store", store.ErrInvalid)
	fields := strings.Split(text, ".")
	if len(fields) < 5 {
		return nil, invalid
	}
	p := &place{id: fields[0], run: fields[1], end: fields[2] == "end"}
	var errAt, errBegun, errStep error
	if !p.end {
		p.at, errAt = strconv.ParseUint(fields[2], 10, 64)
	}
	p.begun, errBegun = strconv.Atoi(fields[3])
	p.step, errStep = strconv.Atoi(fields[4])
	switch {
	case len(p.id) != 2*len(store.Token{}) || !isHex(p.id), errAt != nil, errBegun != nil, errStep != nil:
		return nil, invalid
	case p.step < 1, p.step > mostStep, s.limits.cluster && (p.run != "" || p.at >= slots):
		return nil, invalid
	}
	for _, field := range fields[5:] {
		name, err := base64.RawURLEncoding.DecodeString(field)
		if err != nil {
			return nil, invalid
		}
		if _, _, ok := s.keyOf(string(name)); !ok {
			return nil, invalid
		}
		p.names = append(p.names, string(name))
	}
	return p, nil
}
