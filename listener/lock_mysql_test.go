package listener_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/dedup"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
)

// A batch waits for the server's patience twice: once as a whole, and once for
// the record alone.
func TestMySQLALockedRecordIsBusyAndNoOutage(t *testing.T) {
	t.Parallel()
	p := place{MySQL: breakables["MySQL"].start(t).Addr()}
	records, db, err := p.openMySQL()
	if err == nil {
		t.Cleanup(func() { _ = db.Close() }) // nothing is left to lose
		err = records.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	o := listener.Options{BatchSize: 32}
	o.Guard.CallTimeout, o.Guard.ClaimTimeout = 5*time.Second, 5*time.Second
	r := newRigOn(t, o, func(*memstore.Store) store.Store { return records })
	cb := r.Each(r.handler())
	want(t, cb, success, 0, orders("locked")...)

	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted}) // no gaps
	if err == nil {
		defer tx.Rollback() // it has changed nothing
		err = tx.QueryRow("SELECT status FROM dedup_record FOR UPDATE").Scan(new(string))
	}
	if err != nil {
		t.Fatal(err)
	}
	consume(t, cb, orders("a", "locked", "b", "c")...)
	r.wantRan(t, "locked", "a", "b", "c")
	for _, e := range r.events[1:] {
		if e.HoldTime > 0 || (e.Key.ID == "locked") != errors.Is(e.Err, dedup.ErrBusy) {
			t.Errorf("%s: got %v, %v, held for %v; want the locked one busy and none held",
				e.Key.ID, e.Outcome, e.Err, e.HoldTime)
		}
	}
}
