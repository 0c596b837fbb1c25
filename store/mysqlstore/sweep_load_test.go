package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/sweep"
)

// TestASweepOfAHugeTableHoldsUpNoClaim claims at a steady pace without and with
// a sweep beside it. DEDUP_TEST_EXPIRED is how many expired rows there are, and
// DEDUP_TEST_SWEEP how long each part takes.
func TestASweepOfAHugeTableHoldsUpNoClaim(t *testing.T) {
	rows, period := 60_000, 3*time.Second
	if text := os.Getenv("DEDUP_TEST_EXPIRED"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("DEDUP_TEST_EXPIRED: %v", err)
		}
		rows = n
	}
	if text := os.Getenv("DEDUP_TEST_SWEEP"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("DEDUP_TEST_SWEEP: %v", err)
		}
		period = d
	}
	server := testserver.MariaDB(t, "--innodb-buffer-pool-size=512M", "--innodb-log-file-size=256M",
		"--innodb-flush-log-at-trx-commit=1")
	db := pool(t, server.Addr(), "")
	s := migrated(t, db, mysqlstore.Options{})
	expire(t, db, s, rows)

	alone := pace(t, s, period)
	loop, err := sweep.New(s, sweep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var sweeping sync.WaitGroup
	sweeping.Go(func() {
		if err := loop.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	beside := pace(t, s, period)
	stop()
	sweeping.Wait()
	removed := loop.Stats().Removed
	t.Logf("figure: %d expired rows, %d claims/s for %v: p50 %v alone, %v beside a sweep; p99 %v alone, %v beside;"+
		" %d rows removed", rows, claimsPerSecond, period, at(alone, 50), at(beside, 50), at(alone, 99), at(beside, 99), removed)
	if removed < 1000 {
		t.Errorf("the sweep removed %d rows, want 1000 or more", removed)
	}
	// A busy machine delays single claims with and without a sweep; what this
	// must find is a statement that reads or locks the whole table.
	for percent, slack := range map[int]time.Duration{50: 50 * time.Millisecond, 99: 2 * time.Second} {
		if limit := 10*at(alone, percent) + slack; at(beside, percent) > limit {
			t.Errorf("p%d of claims beside the sweep is %v, want %v at most", percent, at(beside, percent), limit)
		}
	}
}

const claimsPerSecond = 500

// pace claims keys at a steady pace and returns how long each claim took, in order.
func pace(t *testing.T, s *mysqlstore.Store, period time.Duration) []time.Duration {
	t.Helper()
	var mu sync.Mutex // guards took
	var took []time.Duration
	var claims sync.WaitGroup
	tick := time.NewTicker(time.Second / claimsPerSecond)
	defer tick.Stop()
	for end := time.Now().Add(period); time.Now().Before(end); <-tick.C {
		claims.Go(func() {
			token := store.NewToken()
			k := store.Key{Application: "pace", Topic: "t", ID: token.String()}
			began := time.Now()
			v, err := s.Claim(t.Context(), store.ClaimRequest{Key: k, Token: token, Lease: time.Minute, Horizon: time.Hour})
			d := time.Since(began)
			if err != nil || v.State != store.Claimed {
				t.Errorf("claim: got %v, %v, want claimed", v, err)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, d)
		})
	}
	claims.Wait()
	slices.Sort(took)
	return took
}

func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[len(sorted)*percent/100].Round(10 * time.Microsecond)
}

// expire puts expired rows into the table, in all states and over the whole space
// of hashes, in the order of their keys: any other takes hours for ten million.
func expire(t *testing.T, db *sql.DB, s *mysqlstore.Store, rows int) {
	t.Helper()
	const step = 200_000 // rows in a transaction
	for from := 0; from < rows; from += step {
		to := min(from+step, rows)
		_, err := db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s (key_hash, application, topic, tag, id, status, owner,"+
			" attempts, max_attempts, lease_ms, horizon_ms, keep_ms, change_time, expire_time)"+
			" SELECT UNHEX(CONCAT(LPAD(HEX(FLOOR(seq * %f)), 8, '0'), SHA1(seq), REPEAT('0', 16))), 'expired', 'orders', 'paid', seq,"+
			" ELT(1 + seq %% 4, 'CONSUMED', 'CONSUMING', 'PARKED', 'RELEASED'), 'owner', 1, 0, 0, 0, 1000, 1, 1000 + seq"+
			" FROM seq_%d_to_%d", s.Table(), float64(1<<32)/float64(rows), from, to-1))
		if err != nil {
			t.Fatal(err)
		}
	}
}
