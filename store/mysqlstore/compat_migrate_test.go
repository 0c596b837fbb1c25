package mysqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// The rows that the original left stay as they are, and mean the same to it.
func TestTheOriginalsTableIsUpgradedInPlace(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for _, dialect := range dialects {
			t.Run(dialect, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, address)
				o := newOriginal(p.open(t, dialect))
				must(t, o.db, originalTable)
				fill(t, o)
				s, before := openCompat(t, p.open(t, ""), time.Second), dump(t, o.db)
				wantMentions(t, s.Check(within(t, ample)), "table t_rocketmq_dedup", "ALTER TABLE `t_rocketmq_dedup`",
					"MODIFY COLUMN msg_uniq_key VARBINARY(766) NOT NULL", "ADD COLUMN owner")
				if after := dump(t, o.db); !slices.Equal(before, after) {
					t.Errorf("after Check: got %v, want %v", after, before)
				}
				migrateAtOnce(t, s)
				if after := dump(t, o.db); !slices.Equal(before, after) {
					t.Errorf("after Migrate: got %v, want %v", after, before)
				}
				if err := s.Check(within(t, ample)); err != nil {
					t.Errorf("after Migrate: %v", err)
				}
				wantFilled(t, o, s)
			})
		}
	})
}

// fill makes a row of each kind: done, running and failed deliveries of what the
// original's own table can keep.
func fill(t *testing.T, o original) {
	t.Helper()
	for _, g := range golden {
		if g.newly {
			continue
		}
		k := goldenKey(g.tag, g.id)
		o.wantMeets(t, k, runs)
		if g.fails {
			o.mustFail(t, k)
		} else {
			o.mustSucceed(t, k)
		}
	}
	o.wantMeets(t, goldenKey("TagA", "running"), runs)
	o.expire = -time.Hour
	o.wantMeets(t, goldenKey("TagA", "expired"), runs)
}

// wantFilled wants both sides to take the rows of fill for what they are.
func wantFilled(t *testing.T, o original, s *mysqlstore.Store) {
	t.Helper()
	for _, g := range golden {
		k := goldenKey(g.tag, g.id)
		switch {
		case g.fails || g.newly:
			answers(t, s, k, store.Claimed)
		default:
			answers(t, s, k, store.Done)
			o.wantMeets(t, k, skips)
		}
	}
	answers(t, s, goldenKey("TagA", "running"), store.Busy)
	o.wantMeets(t, goldenKey("TagA", "running"), sendsBack)
	claims(t, s, request(goldenKey("TagA", "expired"), store.NewToken()), 1)
	o.wantMeets(t, goldenKey("TagA", "expired"), sendsBack)
}

// migrateAtOnce is several instances that start together.
func migrateAtOnce(t *testing.T, s *mysqlstore.Store) {
	t.Helper()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := s.Migrate(within(t, ample)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// variants are tables that others have made of the original's.
var variants = []struct {
	what, table string
	mariaOnly   bool // MySQL 5.6 has no index over so many bytes
}{
	{"short columns in utf8mb4", "CREATE TABLE t_rocketmq_dedup (application_name varchar(64) NOT NULL, " +
		"topic varchar(64) NOT NULL, tag varchar(64) NOT NULL, msg_uniq_key varchar(191) NOT NULL, status varchar(16) NOT NULL, " +
		"expire_time bigint(20) NOT NULL, UNIQUE KEY uk (application_name, topic, tag, msg_uniq_key)) " +
		"ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", false},
	{"application_name of 200 characters", "CREATE TABLE t_rocketmq_dedup (application_name varchar(200) NOT NULL, " +
		"topic varchar(255) NOT NULL, tag varchar(16) NOT NULL, msg_uniq_key varchar(255) NOT NULL, " +
		"status varchar(16) NOT NULL, expire_time bigint(20) NOT NULL, " +
		"UNIQUE KEY uniq_key (application_name, topic, tag, msg_uniq_key) USING BTREE) " +
		"ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 ROW_FORMAT=DYNAMIC", true},
	{"a key by hash", strings.NewReplacer("utf8", "utf8mb4", " ROW_FORMAT=COMPACT", "", " USING BTREE", "").
		Replace(originalTable), true},
	{"an own primary key and times", "CREATE TABLE t_rocketmq_dedup (id bigint(20) unsigned NOT NULL AUTO_INCREMENT, " +
		"create_time datetime NOT NULL DEFAULT CURRENT_TIMESTAMP, " +
		"update_time datetime NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, " +
		"application_name varchar(32) NOT NULL, topic varchar(64) NOT NULL, tag varchar(64) NOT NULL, " +
		"msg_uniq_key varchar(255) NOT NULL, status varchar(16) NOT NULL, expire_time bigint(20) NOT NULL, " +
		"PRIMARY KEY (id), UNIQUE KEY uk_uniq_key (application_name, topic, tag, msg_uniq_key), " +
		"KEY idx_expire_time (expire_time)) ENGINE=InnoDB DEFAULT CHARSET=utf8", false},
	{"gbk", strings.Replace(originalTable, "CHARSET=utf8", "CHARSET=gbk", 1), false},
	{"latin1", strings.Replace(originalTable, "CHARSET=utf8", "CHARSET=latin1", 1), false},
	{"the key as the primary key", strings.Replace(originalTable, "UNIQUE KEY `uniq_key`", "PRIMARY KEY", 1), false},
}

func TestVariantsOfTheOriginalsTableAreUpgraded(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for _, v := range variants {
			if v.mariaOnly && strings.Contains(t.Name(), "MySQL") {
				continue
			}
			t.Run(v.what, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, address)
				o := newOriginal(p.open(t, "charset=utf8"))
				must(t, o.db, v.table)
				done, running := goldenKey("TagA", "订单-9"), goldenKey("", "A1001")
				if v.what == "latin1" {
					done.ID = "é-9"
				}
				o.wantMeets(t, done, runs)
				o.mustSucceed(t, done)
				o.wantMeets(t, running, runs)
				db := p.open(t, "")
				s := openCompat(t, db, 100*time.Millisecond)
				migrateAtOnce(t, s)
				if err := s.Check(within(t, ample)); err != nil {
					t.Error(err)
				}
				o.wantMeets(t, done, skips)
				o.wantMeets(t, running, sendsBack)
				answers(t, s, done, store.Done)
				answers(t, s, running, store.Busy)
				if v.what != "an own primary key and times" {
					return // the contract takes long, and this one is the farthest from a table of ours
				}
				h := hooks(db, s)
				h.Persist = nil // as in TestContractBesideTheOriginal
				storetest.Run(t, storetest.Harness{New: func(testing.TB) store.Store { return s }, MaxPart: 765, Hooks: h})
			})
		}
	})
}

// foreign are tables that an upgrade must leave alone, and what to say of them.
var foreign = []struct {
	what, table, row string
	words            []string
}{
	{"another program's columns", "CREATE TABLE t_rocketmq_dedup (id bigint NOT NULL AUTO_INCREMENT, " +
		"create_time datetime NOT NULL, application_name varchar(32) NOT NULL, topic varchar(64) NOT NULL, " +
		"tag varchar(64) NOT NULL, consumer_group varchar(64) NOT NULL, msg_uniq_key varchar(64) NOT NULL, " +
		"consume_status tinyint(1) NOT NULL, expire_time bigint NOT NULL, PRIMARY KEY (id), " +
		"UNIQUE KEY uk_uniq_key (application_name, topic, consumer_group, tag, msg_uniq_key)) ENGINE=InnoDB DEFAULT CHARSET=utf8",
		"INSERT INTO t_rocketmq_dedup VALUES (1, NOW(), 'a', 't', '', 'g', 'k', 1, 1), (2, NOW(), 'a', 't', '', 'h', 'k', 1, 1)",
		[]string{"the column status is missing", "Options.Table", "uk_uniq_key", "create_time"}},
	{"a longer key", strings.Replace(strings.Replace(originalTable, "`status`", "`consumer_group` varchar(9) NOT NULL DEFAULT '',`status`", 1),
		"`topic`,`tag`", "`topic`,`consumer_group`,`tag`", 1),
		"INSERT INTO t_rocketmq_dedup VALUES ('a', 't', '', 'k', 'g', 'CONSUMED', 1), ('a', 't', '', 'k', 'h', 'CONSUMED', 1)",
		[]string{"another unique key, uniq_key"}},
	{"parts that are too long", "CREATE TABLE t_rocketmq_dedup (application_name varchar(200) NOT NULL, " +
		"topic varchar(255) NOT NULL, tag varchar(16) NOT NULL, msg_uniq_key varchar(900) NOT NULL, " +
		"status varchar(16) NOT NULL, expire_time bigint NOT NULL, KEY uniq_key (application_name, topic)) " +
		"ENGINE=InnoDB DEFAULT CHARSET=utf8",
		"INSERT INTO t_rocketmq_dedup VALUES ('a', 't', '', REPEAT('k', 767), 'CONSUMED', 1)",
		[]string{"more than 766 bytes", "no row was changed", "DELETE FROM `t_rocketmq_dedup` WHERE", "LENGTH(msg_uniq_key) > 766"}},
}

func TestAnUpgradeThatCannotBeLeavesTheTableAlone(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		for _, f := range foreign {
			for _, mode := range []string{"", "NO_ENGINE_SUBSTITUTION"} {
				t.Run(fmt.Sprintf("%s, sql_mode '%s'", f.what, mode), func(t *testing.T) {
					t.Parallel()
					p := newPlace(t, address)
					db := p.open(t, "sql_mode=%27"+mode+"%27")
					must(t, db, f.table)
					must(t, db, f.row)
					before := shape(t, p)
					s := openCompat(t, db, 0)
					err := s.Migrate(within(t, ample))
					wantMentions(t, err, f.words...)
					var finding *mysqlstore.Finding
					if !errors.As(err, &finding) {
						t.Errorf("got %v, want a finding", err)
					}
					if after := shape(t, p); after != before {
						t.Errorf("got %s, want %s", after, before)
					}
					if err := s.Check(within(t, ample)); err == nil {
						t.Error("Check found nothing")
					}
				})
			}
		}
	})
}

// shape is the table's definition and its contents.
func shape(t *testing.T, p place) string {
	t.Helper()
	db := p.open(t, "")
	var name, definition, sum string
	err := db.QueryRowContext(within(t, ample), "SHOW CREATE TABLE t_rocketmq_dedup").Scan(&name, &definition)
	if err == nil {
		err = db.QueryRowContext(within(t, ample), "CHECKSUM TABLE t_rocketmq_dedup").Scan(&name, &sum)
	}
	if err != nil {
		t.Fatal(err)
	}
	return definition + sum
}
