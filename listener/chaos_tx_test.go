package listener_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// ordersPerSecond is less than what chaos sends elsewhere: each is a transaction
// that waits for the disk.
const ordersPerSecond = 200

// chaosShop is the shop of consumers that transact, with its tables beside the
// records.
func chaosShop() *shop { return &shop{orders: "orders", stock: "stock"} }

// book is the handler of a consumer that transacts. It fails when everything is
// written, too, and takes long enough for a kill to meet transactions half way.
func (s *sailor) book(ctx context.Context, tx *sql.Tx, m *primitive.MessageExt) error {
	return s.run(m, func() error {
		return chaosShop().book(ctx, tx, m.GetKeys(), func() error {
			return taking(usual()+rand.N(200*time.Millisecond))(ctx, m)
		})
	})
}

// The same chaos befalls consumers that book orders in transactions. Runs may be
// many, and at once: what counts is what is in the database in the end, and none of
// its tables has an index that would keep a second booking out.
func TestTransactionsUnderChaosAreExact(t *testing.T) {
	d := soakTime(t, "DEDUP_TEST_CHAOS_TX")
	s := newScene(t, realBroker, chaosQueues)
	c := newChaos(s, "MySQL")
	s.Transact = true
	shop := openChaosShop(t, c.server.Addr(), chaosShop())
	seed := c.befall(s, d, ordersPerSecond)
	j := newJudge(lease)
	c.finish(j.read, func() bool { return shop.booked() >= j.known })

	b, wrong := shop.audit(j, s.Group)
	t.Logf("figure: transactions store=MariaDB seconds=%.0f seed=%d messages=%d keys=%d kills=%d pauses=%d restarts=%d "+
		"hangs=%d cuts=%d joins=%d leaves=%d runs=%d runs_failed=%d runs_killed=%d skipped=%d deferred=%d dead=%d %v",
		d.Seconds(), seed, j.messages, j.known, j.kills, j.pauses, j.restarts, j.hangs, j.cuts, j.joins, j.leaves,
		j.runs, j.failed, j.cutShort, j.skipped, j.deferred, s.dead(), b)
	for _, floor := range j.missing(d, ordersPerSecond) {
		t.Error(floor)
	}
	if want := (books{orders: j.known, sold: j.known, done: j.known}); b != want {
		t.Errorf("got  %v\nwant %v", b, want)
	}
	for _, n := range wrong {
		t.Errorf("%s\n%s", n.key, c.story(n))
	}
}

// openChaosShop makes the tables of s in the server at addr, and looks at them past
// whatever disturbs the consumers.
func openChaosShop(t *testing.T, addr string, s *shop) *shop {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+addr+")/dedup")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is left to lose
	s.t, s.db = t, db
	s.create()
	return s
}

// booked is how many keys are booked, those that are twice counted once.
func (s *shop) booked() int {
	return s.number("SELECT COUNT(DISTINCT SUBSTRING_INDEX(id, '@', 1)) FROM " + s.orders)
}

// books are what is in a shop in the end.
type books struct {
	orders  int // rows
	doubled int // rows of a key but its first
	lost    int // keys that were sent and have no order
	sold    int // items
	done    int // records
}

func (b books) String() string {
	return fmt.Sprintf("orders=%d sold=%d records_done=%d doubled=%d lost=%d", b.orders, b.sold, b.done, b.doubled, b.lost)
}

// audit closes the books of a group's step, and returns the first keys that are wrong.
func (s *shop) audit(j *judge, group string) (b books, wrong []note) {
	s.t.Helper()
	booked := map[string]int{}
	for booking, n := range s.bookings() {
		booked[keyOf(booking)] += n
		b.orders += n
	}
	b.doubled = b.orders - len(booked)
	for key, h := range j.keys {
		n := booked[key]
		if n == 0 {
			b.lost++
		}
		if n != 1 && len(wrong) < 5 {
			wrong = append(wrong, note{key: key, at: h.sent})
		}
	}
	b.sold = s.sold()
	b.done = s.number("SELECT COUNT(*) FROM dedup_record WHERE status = 'CONSUMED' AND application = '" + group + "'")
	return b, wrong
}

// bookings are how many rows there are of each order.
func (s *shop) bookings() map[string]int {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), "SELECT id, COUNT(*) FROM "+s.orders+" GROUP BY id")
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var booking string
		var n int
		if err := rows.Scan(&booking, &n); err != nil {
			s.t.Fatal(err)
		}
		all[booking] = n
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return all
}
