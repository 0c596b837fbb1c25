package mysqlstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// golden are deliveries of which the rows of the original were recorded. What
// its own table cannot keep apart, or not at all, is marked.
var golden = []struct {
	what    string
	tag, id string
	parts   string // in hex, of tag and id
	fails   bool
	newly   bool // its own table does not take it, or takes it for the one before
}{
	{"G1 a tag", "TagA", "A1001", "54616741|4131303031", false, false},
	{"G2, G3 no tag, or an empty one", "", "A1002", "|4131303032", false, false},
	{"G4, G5 a callback that fails", "TagA", "A1004", "54616741|4131303034", true, false},
	{"G6 beyond ASCII", "TagA", "订单-9", "54616741|E8AEA2E58D952D39", false, false},
	{"G7 colons", "TagA", "a:b:c", "54616741|613A623A63", false, false},
	{"G10 the default key", "TagA", "FD0000000000000000000000000000027A4A30946E0997966B320000",
		"54616741|46443030303030303030303030303030303030303030303030303030" +
			"30303032374134413330393436453039393739363642333230303030", false, false},
	{"quotes and a backslash", "Ta'g", `a'b"c\`, "54612767|61276222635C", false, false},
	{"255 characters of three bytes", "TagA", strings.Repeat("单", 255),
		"54616741|" + strings.Repeat("E58D95", 255), false, false},
	{"lower case", "TagA", "a1001", "54616741|6131303031", false, true},
	{"a trailing space", "TagA", "A1001 ", "54616741|413130303120", false, true},
	{"an accent", "TagA", "Á1001", "54616741|C38131303031", false, true},
	{"lower case in the tag", "taga", "A1001", "74616761|4131303031", false, true},
	{"a selector of 20 characters", "TagA || TagB || TagC", "A1001",
		"54616741207C7C2054616742207C7C2054616743|4131303031", false, true},
	{"300 characters", "TagA", strings.Repeat("k", 300), "54616741|" + strings.Repeat("6B", 300), false, true},
}

// emoji is apart: not every connection of the original can send one.
const emoji = "order-😀"

func goldenKey(tag, id string) store.Key {
	return store.Key{Application: "order-consumer", Topic: "TopicOrder", Tag: tag, ID: id}
}

const goldenHead = "6F726465722D636F6E73756D6572|546F7069634F72646572|"

// inDialects runs a test on every server and with every way of the original to
// send its statements.
func inDialects(t *testing.T, skew time.Duration, test func(*testing.T, original, *mysqlstore.Store)) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for _, dialect := range dialects {
			t.Run(dialect, func(t *testing.T) {
				t.Parallel()
				p, _, s := shared(t, address, skew)
				test(t, newOriginal(p.open(t, dialect)), s)
			})
		}
	})
}

// Both sides leave the same rows, after the claim and after the end, but for
// the skew that is added to claims of ours.
func TestOurDeliveriesLookLikeTheOriginals(t *testing.T) {
	const skew = 7 * time.Second
	inDialects(t, skew, func(t *testing.T, o original, s *mysqlstore.Store) {
		for _, g := range golden {
			k, a := goldenKey(g.tag, g.id), store.NewToken()
			o.wantMeets(t, k, runs)
			wantOnly(t, o, goldenHead+g.parts, "CONSUMING", time.Minute)
			if g.fails {
				o.mustFail(t, k)
				wantOnly(t, o, "", "", 0)
			} else {
				o.mustSucceed(t, k)
				wantOnly(t, o, goldenHead+g.parts, "CONSUMED", 24*time.Hour)
			}
			must(t, o.db, "DELETE FROM t_rocketmq_dedup")

			claims(t, s, request(k, a), 1)
			wantOnly(t, o, goldenHead+g.parts, "CONSUMING", time.Minute+skew)
			if g.fails {
				releases(t, s, k, a)
				o.wantMeets(t, k, runs)
			} else {
				completes(t, s, k, a, 24*time.Hour, store.Completed)
				wantOnly(t, o, goldenHead+g.parts, "CONSUMED", 24*time.Hour)
			}
			must(t, o.db, "DELETE FROM t_rocketmq_dedup")
		}
	})
}

// wantOnly wants the table to hold one row, or none when parts is "".
func wantOnly(t testing.TB, o original, parts, status string, d time.Duration) {
	t.Helper()
	now, rows := time.Now().UnixMilli(), dump(t, o.db)
	if parts == "" && len(rows) == 0 {
		return
	}
	if len(rows) != 1 || rows[0].parts != parts || rows[0].status != status {
		t.Fatalf("got %v, want one row %s, %s", rows, parts, status)
	}
	if left := time.Duration(rows[0].expires-now) * time.Millisecond; left > d+time.Millisecond || left < d-10*time.Second {
		t.Fatalf("%s expires in %v, want %v", parts, left, d)
	}
}

// Names are compared byte for byte, by both sides.
func TestKeysThatTheOriginalsCollationTookForOneAreApart(t *testing.T) {
	inDialects(t, time.Second, func(t *testing.T, o original, s *mysqlstore.Store) {
		for i, g := range golden {
			k := goldenKey(g.tag, g.id)
			if i%2 == 0 {
				o.wantMeets(t, k, runs)
			} else {
				claims(t, s, request(k, store.NewToken()), 1)
			}
		}
		for _, g := range golden {
			o.wantMeets(t, goldenKey(g.tag, g.id), sendsBack)
			answers(t, s, goldenKey(g.tag, g.id), store.Busy)
		}
	})
}

// An emoji is what the original's own table and a connection in utf8 cannot
// have. In utf8mb4 both sides have it after the upgrade.
func TestAnEmojiIsTheSameKeyForBoth(t *testing.T) {
	inDialects(t, time.Second, func(t *testing.T, o original, s *mysqlstore.Store) {
		k, a := goldenKey("", emoji), store.NewToken()
		claims(t, s, request(k, a), 1)
		got, err := o.meets(within(t, ample), k)
		if got != sendsBack || err != nil {
			t.Fatalf("the original %s (%v), want that it %s", got, err, sendsBack)
		}
		completes(t, s, k, a, time.Hour, store.Completed)
		o.wantMeets(t, k, skips)
	})
}

// G8, G9, G11 and G12, met from either side.
func TestEachSideTakesTheOthersRowForWhatItIs(t *testing.T) {
	const skew = 5 * time.Second
	inDialects(t, skew, func(t *testing.T, o original, s *mysqlstore.Store) {
		for _, c := range meetings {
			t.Run(c.what, func(t *testing.T) {
				c.run(t, meeting{o, s, skew, goldenKey("TagA", c.what), store.NewToken()})
			})
		}
	})
}

type meeting struct {
	o    original
	s    *mysqlstore.Store
	skew time.Duration
	k    store.Key
	a    store.Token
}

var meetings = []struct {
	what string
	run  func(*testing.T, meeting)
}{
	{"G9 our claim", func(t *testing.T, m meeting) {
		claims(t, m.s, request(m.k, m.a), 1)
		m.o.wantMeets(t, m.k, sendsBack)
		wantRow(t, m.o.db, m.k, "CONSUMING", time.Minute+m.skew)
		if err := m.s.Renew(within(t, ample), []store.Claim{{Key: m.k, Token: m.a}})[0]; err != nil {
			t.Error(err)
		}
		wantRow(t, m.o.db, m.k, "CONSUMING", time.Minute+m.skew)
		claims(t, m.s, request(m.k, m.a), 1)
		wantRow(t, m.o.db, m.k, "CONSUMING", time.Minute+m.skew)
	}},
	{"G8 our completion", func(t *testing.T, m meeting) {
		claims(t, m.s, request(m.k, m.a), 1)
		completes(t, m.s, m.k, m.a, time.Hour, store.Completed)
		m.o.wantMeets(t, m.k, skips)
		wantRow(t, m.o.db, m.k, "CONSUMED", time.Hour)
	}},
	{"our parking", func(t *testing.T, m meeting) {
		claims(t, m.s, request(m.k, m.a), 1)
		if err := m.s.Park(within(t, ample), m.k, m.a, time.Hour); err != nil {
			t.Fatal(err)
		}
		m.o.wantMeets(t, m.k, sendsBack)
		wantRow(t, m.o.db, m.k, "CONSUMING", time.Hour)
		answers(t, m.s, m.k, store.Parked)
	}},
	{"a claim of ours that used up its attempts", func(t *testing.T, m meeting) {
		claims(t, m.s, request(m.k, m.a), 1)
		releases(t, m.s, m.k, m.a)
		r := request(m.k, store.NewToken())
		r.MaxAttempts, r.ParkKeep = 1, time.Hour
		if v, err := m.s.Claim(within(t, ample), r); err != nil || v.State != store.Parked {
			t.Fatalf("got %+v, %v, want parked", v, err)
		}
		m.o.wantMeets(t, m.k, sendsBack)
		wantRow(t, m.o.db, m.k, "CONSUMING", time.Hour)
	}},
	{"our release", func(t *testing.T, m meeting) {
		claims(t, m.s, request(m.k, m.a), 1)
		releases(t, m.s, m.k, m.a)
		m.o.wantMeets(t, m.k, runs)
		answers(t, m.s, m.k, store.Busy)
		if err := m.s.Release(within(t, ample), m.k, m.a, true); !errors.Is(err, store.ErrNotOwner) {
			t.Errorf("release: got %v, want %v", err, store.ErrNotOwner)
		}
	}},
	{"our take-over of a released key", func(t *testing.T, m meeting) {
		claims(t, m.s, request(m.k, m.a), 1)
		releases(t, m.s, m.k, m.a)
		claims(t, m.s, request(m.k, store.NewToken()), 2)
		m.o.wantMeets(t, m.k, sendsBack)
	}},
	{"G9 the original's claim", func(t *testing.T, m meeting) {
		m.o.wantMeets(t, m.k, runs)
		v := answers(t, m.s, m.k, store.Busy)
		if most := time.Minute + m.skew; v.Left > most || v.Left < most-10*time.Second || v.Rearmed {
			t.Errorf("got %+v, want busy for %v", v, most)
		}
		wantRow(t, m.o.db, m.k, "CONSUMING", time.Minute)
	}},
	{"the original's claim that has expired", func(t *testing.T, m meeting) {
		m.o.expire = -time.Second
		m.o.wantMeets(t, m.k, runs)
		v := answers(t, m.s, m.k, store.Busy)
		if v.Left > m.skew-time.Second {
			t.Errorf("got %+v, want busy for %v", v, m.skew-time.Second)
		}
		m.o.expire = -m.skew - time.Millisecond
		m.o.wantMeets(t, m.k, runs)
		claims(t, m.s, request(m.k, m.a), 1)
		wantRow(t, m.o.db, m.k, "CONSUMING", time.Minute+m.skew)
	}},
	{"G8 the original's completion", func(t *testing.T, m meeting) {
		m.o.wantMeets(t, m.k, runs)
		m.o.mustSucceed(t, m.k)
		if v := answers(t, m.s, m.k, store.Done); v.Rearmed {
			t.Errorf("got %+v, want nothing to have been given an expiry", v)
		}
		completes(t, m.s, m.k, m.a, time.Hour, store.AlreadyDone)
		wantRow(t, m.o.db, m.k, "CONSUMED", 24*time.Hour)
		completes(t, m.s, m.k, m.a, 48*time.Hour, store.AlreadyDone)
		wantRow(t, m.o.db, m.k, "CONSUMED", 48*time.Hour)
	}},
	{"the original's failure", func(t *testing.T, m meeting) {
		m.o.wantMeets(t, m.k, runs)
		m.o.mustFail(t, m.k)
		claims(t, m.s, request(m.k, m.a), 1)
	}},
	{"our completion while the original runs", func(t *testing.T, m meeting) {
		m.o.wantMeets(t, m.k, runs)
		completes(t, m.s, m.k, m.a, time.Hour, store.Late)
		wantRow(t, m.o.db, m.k, "CONSUMED", time.Hour)
		m.o.wantMeets(t, m.k, skips)
	}},
	{"steps of an owner while the original runs", func(t *testing.T, m meeting) {
		claims(t, m.s, request(m.k, m.a), 1)
		m.o.mustFail(t, m.k)
		m.o.wantMeets(t, m.k, runs)
		wantNotOwner(t, m)
		wantRow(t, m.o.db, m.k, "CONSUMING", time.Minute)
	}},
	{"steps of an owner after the original's completion", func(t *testing.T, m meeting) {
		claims(t, m.s, request(m.k, m.a), 1)
		m.o.mustSucceed(t, m.k)
		wantNotOwner(t, m)
		completes(t, m.s, m.k, m.a, time.Hour, store.Completed)
		wantRow(t, m.o.db, m.k, "CONSUMED", 24*time.Hour)
	}},
	{"G11 a foreign status", func(t *testing.T, m meeting) {
		for _, status := range []string{"GARBAGE", "", "consumed", "Consuming", "CONSUMED ", "PARKED", "RELEASED"} {
			m.o.wantMeets(t, m.k, runs)
			must(t, m.o.db, "UPDATE t_rocketmq_dedup SET status = ?", status)
			m.o.wantMeets(t, m.k, runsUnprotected)
			answers(t, m.s, m.k, store.Corrupt)
			completes(t, m.s, m.k, m.a, time.Hour, store.Repaired)
			m.o.wantMeets(t, m.k, skips)
			must(t, m.o.db, "DELETE FROM t_rocketmq_dedup")
		}
	}},
	{"G12 no retention", func(t *testing.T, m meeting) {
		m.o.wantMeets(t, m.k, runs)
		m.o.retention = 0
		m.o.mustSucceed(t, m.k)
		claims(t, m.s, request(m.k, m.a), 1)
	}},
	{"G12 no processing time", func(t *testing.T, m meeting) {
		m.o.expire = 0
		m.o.wantMeets(t, m.k, runs)
		if v := answers(t, m.s, m.k, store.Busy); v.Left > m.skew {
			t.Errorf("got %+v, want busy for %v", v, m.skew)
		}
	}},
}

// wantNotOwner wants every step that only an owner may take to be refused.
func wantNotOwner(t *testing.T, m meeting) {
	t.Helper()
	ctx := within(t, ample)
	_, fence := m.s.Fence(ctx, m.k, m.a)
	for what, err := range map[string]error{
		"release": m.s.Release(ctx, m.k, m.a, true), "park": m.s.Park(ctx, m.k, m.a, time.Hour),
		"renew": m.s.Renew(ctx, []store.Claim{{Key: m.k, Token: m.a}})[0], "fence": fence,
	} {
		if !errors.Is(err, store.ErrNotOwner) {
			t.Errorf("%s: got %v, want %v", what, err, store.ErrNotOwner)
		}
	}
}

// The original reads status as a text: its driver would return bytes of a
// binary column, which it casts to a text.
func TestStatusComesBackAsAText(t *testing.T) {
	inDialects(t, time.Second, func(t *testing.T, o original, s *mysqlstore.Store) {
		claims(t, s, request(goldenKey("", "1"), store.NewToken()), 1)
		rows, err := o.db.QueryContext(within(t, ample), "SELECT status FROM t_rocketmq_dedup where "+identity+
			" and expire_time > ?", "order-consumer", "TopicOrder", "", "1", o.now())
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close() // Err has what matters
		types, err := rows.ColumnTypes()
		if err != nil || len(types) != 1 || types[0].DatabaseTypeName() != "VARCHAR" {
			t.Errorf("got %v, %v, want VARCHAR", types[0].DatabaseTypeName(), err)
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
	})
}
