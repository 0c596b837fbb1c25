package sqlitestore

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// words are the statuses of the table that a query looks at, one after another.
// Other queries look at all rows.
var words = map[store.Status][]string{
	store.StatusConsuming: {sqlrecord.Consuming},
	store.StatusLapsed:    {sqlrecord.Consuming, sqlrecord.Released},
	store.StatusConsumed:  {sqlrecord.Consumed},
	store.StatusParked:    {sqlrecord.Parked},
}

// cursor is where a scan stands: behind a row of the word, or behind one of all
// rows.
type cursor struct {
	word    int
	expires int64
	hash    []byte
}

func (c cursor) String() string {
	return fmt.Sprintf("%d.%d.%x", c.word, c.expires, c.hash)
}

// parseCursor reads what String wrote for a query of so many words.
func parseCursor(s string, words int) (c cursor, err error) {
	if s == "" {
		return cursor{hash: []byte{}}, nil
	}
	word, rest, _ := strings.Cut(s, ".")
	expires, key, _ := strings.Cut(rest, ".")
	if c.word, err = strconv.Atoi(word); err == nil {
		c.expires, err = strconv.ParseInt(expires, 10, 64)
	}
	if err == nil {
		c.hash, err = hex.DecodeString(key)
	}
	if err != nil || c.word < 0 || c.word >= max(words, 1) {
		return cursor{}, fmt.Errorf("%w: Query.After is not the Next of a page of this query", store.ErrInvalid)
	}
	return c, nil
}

// Scan lists records, those of one status in the order of their expiry.
func (s *Store) Scan(ctx context.Context, q store.Query) (store.Page, error) {
	if err := invalid("scan", q.Validate()); err != nil {
		return store.Page{}, err
	}
	at, err := parseCursor(q.After, len(words[q.Status]))
	if err != nil {
		return store.Page{}, invalid("scan", err)
	}
	x := &scan{store: s, query: q, at: at, now: time.Now().UnixMilli(), left: q.Limit}
	x.query.Application = store.Key{Application: q.Application}.Bounded().Application
	if err := x.run(ctx); err != nil {
		return store.Page{}, failed("scan", classify(err), err)
	}
	return x.page, nil
}

// scan is one page in the making.
type scan struct {
	store *Store
	query store.Query
	at    cursor
	now   int64
	left  int // how many rows may still be looked at
	page  store.Page
}

const (
	scanAll    = `WHERE key_hash > ? ORDER BY key_hash LIMIT ?`
	scanStatus = `WHERE status = ? AND (expire_time, key_hash) > (?, ?) ORDER BY expire_time, key_hash LIMIT ?`
)

const keyColumns = `key_hash, application, topic, tag, id, `

func (x *scan) run(ctx context.Context) error {
	of := words[x.query.Status]
	if of == nil {
		return x.look(ctx, scanAll, x.at.hash, x.left)
	}
	for x.left > 0 {
		if len(x.at.hash) == 0 { // at its beginning, what has expired is left out
			x.at.expires, x.at.hash = x.now, []byte{0xff}
		}
		err := x.look(ctx, scanStatus, of[x.at.word], x.at.expires, x.at.hash, x.left)
		if err != nil || x.left == 0 {
			return err
		}
		if x.at.word+1 == len(of) {
			return nil
		}
		x.at = cursor{word: x.at.word + 1}
	}
	return nil
}

// look takes the rows of a statement into the page.
func (x *scan) look(ctx context.Context, where string, args ...any) error {
	rows, err := x.store.db.QueryContext(ctx,
		x.store.named(`SELECT `+keyColumns+rowColumns+` FROM dedup_record `+where), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key [5][]byte
		var v values
		if err := rows.Scan(append([]any{&key[0], &key[1], &key[2], &key[3], &key[4]}, v.targets()...)...); err != nil {
			return err
		}
		x.left--
		x.at.hash = key[0]
		x.at.expires, _ = v[7].(int64)
		x.meet(store.Key{
			Application: string(key[1]), Topic: string(key[2]), Tag: string(key[3]), ID: string(key[4]),
		}, v.row())
	}
	x.page.Next = ""
	if x.left == 0 {
		x.page.Next = x.at.String()
	}
	return rows.Err()
}

// meet takes a row into the page if the query asks for it.
func (x *scan) meet(bounded store.Key, row sqlrecord.Row) {
	if row.Absent(x.now) || x.query.Application != "" && bounded.Application != x.query.Application {
		return
	}
	r := recordOf(bounded, &row, x.now)
	if x.query.Status != 0 && r.Status != x.query.Status || x.query.Overdue > 0 && -r.LeaseLeft < x.query.Overdue {
		return
	}
	x.page.Records = append(x.page.Records, r)
}
