package mysqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// answered takes the result of a statement about this call alone.
func (c *call) answered(result sql.Result) error {
	id, err := result.LastInsertId()
	if err == nil {
		c.decided(id)
	}
	return err
}

// failed takes the error of a statement about this call alone. A row that
// somebody keeps locked for longer than the server waits is busy.
func (c *call) failed(err error) {
	if c.op == opClaim && lockTimeout(err) {
		c.verdict = store.Verdict{State: store.Busy, Left: lockedLeft}
		return
	}
	c.err = err
}

// decided takes the answer of a statement about this call alone.
func (c *call) decided(id int64) {
	code, number := id>>codeShift, id&(1<<codeShift-1)
	switch c.op {
	case opClaim:
		c.claimed(code, number)
	case opComplete:
		c.completion = completionOf(code)
	case opFence:
		c.fence = id
	}
	if c.op != opClaim && c.op != opComplete && id == 0 {
		c.err = store.ErrNotOwner
	}
}

// claimed takes the decision about a claim. One that it does not know leaves the
// zero Verdict, which means "deliver again".
func (c *call) claimed(code, number int64) {
	switch code {
	case 0:
		c.verdict = store.Verdict{State: store.Claimed, Attempt: 1}
	case codeClaimed:
		c.verdict = store.Verdict{State: store.Claimed, Attempt: int(number)}
	case codeBusy, codeBusyRearmed:
		c.verdict = store.Verdict{State: store.Busy, Left: milliseconds(number)}
	case codeDone, codeDoneRearmed:
		c.verdict = store.Verdict{State: store.Done}
	case codeParked, codeParkedRearmed, codePark:
		c.verdict = store.Verdict{State: store.Parked}
	case codeCorrupt:
		c.verdict = store.Verdict{State: store.Corrupt}
	case codeNotOwner:
		c.err = store.ErrNotOwner
	}
	c.verdict.Rearmed = code == codeBusyRearmed || code == codeDoneRearmed || code == codeParkedRearmed
}

// completionOf is what a complete answers that met the code.
func completionOf(code int64) store.Completion {
	switch code {
	case 0, codeRecreated:
		return store.Recreated
	case codeCompleted, codeRepeated:
		return store.Completed
	case codeAlready:
		return store.AlreadyDone
	case codeLate:
		return store.Late
	case codeRepaired:
		return store.Repaired
	}
	return 0
}

// row is a record as sql/read.sql returns it.
type row struct {
	state    string
	owner    store.Token
	attempts int64
	found    int64
	decision int64
	left     int64 // of the lease, in milliseconds
}

// querier is a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// readBack reads what became of several calls.
func (s *Store) readBack(ctx context.Context, from querier, calls []*call) error {
	rows, err := from.QueryContext(ctx, s.read(calls))
	if err != nil {
		return err
	}
	defer rows.Close() // Err has what matters
	met := make(map[[sha256.Size]byte]row, len(calls))
	var key [4]sql.RawBytes
	var state, owner sql.RawBytes
	var r row
	targets := make([]any, 0, 10)
	for i := range s.layout.keys {
		targets = append(targets, &key[i])
	}
	targets = append(targets, &state, &owner, &r.attempts, &r.found, &r.decision, &r.left)
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		r.state = string(state)
		copy(r.owner[:], owner)
		met[s.idOf(key)] = r
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, c := range calls {
		r, found := met[c.id]
		c.became(r, found)
	}
	return nil
}

// idOf is the id of the record with this primary key.
func (s *Store) idOf(key [4]sql.RawBytes) (id [sha256.Size]byte) {
	if !s.compat() {
		copy(id[:], key[0])
		return id
	}
	return sqlrecord.Hash(store.Key{
		Application: string(key[0]), Topic: string(key[1]), Tag: string(key[2]), ID: string(key[3]),
	})
}

// became takes what a record looks like after a statement that c was part of.
func (c *call) became(r row, found bool) {
	mine := found && r.owner == c.token
	switch c.op {
	case opClaim:
		c.claimBecame(r, found)
	case opComplete:
		switch {
		case mine && r.state == sqlrecord.Consumed:
			c.completion = completionOf(r.found)
		case found && r.state == sqlrecord.Consumed:
			c.completion = store.AlreadyDone
		default:
			c.completion = store.Completed // and it has expired since
		}
	case opRelease:
		if !mine || r.state != sqlrecord.Released {
			c.err = store.ErrNotOwner
		}
	case opRenew:
		if !mine || r.state != sqlrecord.Consuming || r.left <= 0 { // it counted as absent
			c.err = store.ErrNotOwner
		}
	}
}

func (c *call) claimBecame(r row, found bool) {
	mine := found && r.owner == c.token
	switch {
	case !found:
		c.err = errVanished
	case r.state == sqlrecord.Consumed:
		c.verdict = store.Verdict{State: store.Done}
	case r.state == sqlrecord.Parked:
		c.verdict = store.Verdict{State: store.Parked}
	case mine && r.state == sqlrecord.Consuming:
		c.verdict = store.Verdict{State: store.Claimed, Attempt: int(r.attempts)}
	case mine && r.state == sqlrecord.Released:
		c.err = store.ErrNotOwner
	case r.state == sqlrecord.Consuming, r.state == sqlrecord.Released:
		c.verdict = store.Verdict{State: store.Busy, Left: milliseconds(r.left)}
	default:
		c.verdict = store.Verdict{State: store.Corrupt}
	}
	c.verdict.Rearmed = found && r.decision == head(c.token)
}

// milliseconds is at least one: what a caller waits for has not ended yet.
func milliseconds(n int64) time.Duration { return time.Duration(max(n, 1)) * time.Millisecond }

// head is the start of a token as sql/upsert.sql leaves it in decision.
func head(t store.Token) int64 {
	var b [8]byte
	copy(b[2:], t[:6])
	return int64(binary.BigEndian.Uint64(b[:]))
}
