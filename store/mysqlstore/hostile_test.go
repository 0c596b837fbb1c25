package mysqlstore_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

func TestDurationsAndLimitsAtTheirEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		for name, open := range map[string]func(*sql.DB, mysqlstore.Options) (*mysqlstore.Store, error){
			"native": mysqlstore.New, "beside the original": mysqlstore.NewJavaCompatible,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, err := open(db, mysqlstore.Options{Table: table(t, db)})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Migrate(within(t, ample)); err != nil {
					t.Fatal(err)
				}
				longest(t, s)
				shortest(t, s)
			})
		}
	})
}

func longest(t *testing.T, s *mysqlstore.Store) {
	forever := store.ClaimRequest{
		Key: newKey(), Token: store.NewToken(), Lease: store.MaxDuration, Horizon: store.MaxDuration,
		MaxAttempts: math.MaxInt, ParkKeep: store.MaxDuration,
	}
	claims(t, s, forever, 1)
	claims(t, s, forever, 1)
	other := forever
	other.Token = store.NewToken()
	v, err := s.Claim(within(t, ample), other)
	if err != nil || v.State != store.Busy || v.Left < store.MaxDuration-time.Minute || v.Left > store.MaxDuration {
		t.Errorf("claim of a lease of 100 years: got %+v, %v, want busy for about that", v, err)
	}
	if v := s.ClaimBatch(within(t, ample), []store.ClaimRequest{other, request(newKey(), store.NewToken())}); v[0].Err != nil ||
		v[0].Verdict.State != store.Busy || v[0].Verdict.Left < store.MaxDuration-time.Minute {
		t.Errorf("the same in a batch: got %+v, want busy for about that", v[0])
	}
	if errs := s.Renew(within(t, ample), []store.Claim{{Key: forever.Key, Token: forever.Token}}); errs[0] != nil {
		t.Errorf("renew: %v", errs[0])
	}
	if c, err := s.Complete(within(t, ample), forever.Key, forever.Token, store.MaxDuration); err != nil || c != store.Completed {
		t.Errorf("complete: got %v, %v, want completed", c, err)
	}
	r, err := s.Get(within(t, ample), forever.Key)
	if err != nil || r.ExpiresIn < store.MaxDuration-time.Minute || r.ExpiresIn > store.MaxDuration {
		t.Errorf("get: got %+v, %v, want 100 years to go", r, err)
	}
	if v := answers(t, s, forever.Key, store.Done); v.Rearmed {
		t.Errorf("claim of it: got %+v, want it not to be rearmed", v)
	}
}

func shortest(t *testing.T, s *mysqlstore.Store) {
	brief := store.ClaimRequest{Key: newKey(), Token: store.NewToken(), Lease: time.Millisecond, Horizon: store.MaxDuration}
	claims(t, s, brief, 1)
	for attempt, began := 0, time.Now(); attempt < 2; { // the lease of a millisecond ends soon, and by itself
		v, err := s.Claim(within(t, ample), request(brief.Key, store.NewToken()))
		if attempt = v.Attempt; err != nil || time.Since(began) > ample {
			t.Fatalf("claim after a lease of 1 ms: got %+v, %v, want attempt 2", v, err)
		}
	}
	gone := store.ClaimRequest{Key: newKey(), Token: store.NewToken(), Lease: time.Millisecond, Horizon: time.Millisecond}
	for range 20 { // again and again: whatever has gone by now counts as absent
		gone.Token = store.NewToken()
		for _, a := range s.ClaimBatch(within(t, ample), []store.ClaimRequest{gone, request(newKey(), store.NewToken())}) {
			if a.Err != nil || a.Verdict.State != store.Claimed && a.Verdict.State != store.Busy {
				t.Fatalf("claim of 1 ms in a batch: got %+v, %v, want claimed or busy", a.Verdict, a.Err)
			}
		}
	}
}

func TestEveryByteOfAKeyCounts(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		// What the character set and the mode of a connection do to texts must not matter.
		db := pool(t, address, "charset=latin1&sql_mode=%27NO_BACKSLASH_ESCAPES%27")
		s := migrated(t, db, mysqlstore.Options{})
		var keys []store.Key
		for b := range 256 {
			c := string([]byte{byte(b)})
			keys = append(keys,
				store.Key{Application: "a" + c, Topic: "t", Tag: "g", ID: "i"},
				store.Key{Application: "a", Topic: "t" + c, Tag: "g", ID: "i"},
				store.Key{Application: "a", Topic: "t", Tag: c, ID: "i"},
				store.Key{Application: "a", Topic: "t", Tag: "g", ID: c + c})
		}
		claimsAll(t, s, requests(keys)) // each is the first of its key
		seen := map[store.Key]bool{}
		for after := ""; ; {
			page, err := s.Scan(within(t, ample), store.Query{Limit: 300, After: after})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Records {
				seen[r.Key] = true
			}
			if after = page.Next; after == "" {
				break
			}
		}
		for _, k := range keys {
			if !seen[k] {
				t.Errorf("key %q is not among the records", k)
			}
		}
	})
}

// A server repeats values in its errors. Those that are not for the eyes of
// whoever reads logs must not come out of the store.
func TestErrorsRepeatNoKeyAndNoPassword(t *testing.T) {
	t.Parallel()
	const secret = "iban-DE02120300000000202051"
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		for name, change := range map[string]string{
			"another unique key":    "ADD UNIQUE KEY other (application, topic)",
			"too short a column":    "MODIFY id VARBINARY(3) NOT NULL",
			"a number":              "MODIFY id INT NOT NULL",
			"a text":                "MODIFY id VARCHAR(100) CHARACTER SET utf8 NOT NULL",
			"a missing column":      "DROP COLUMN id",
			"a column to be filled": "ADD COLUMN note DATETIME NOT NULL",
			"a time":                "MODIFY tag DATETIME NOT NULL",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := migrated(t, db, mysqlstore.Options{})
				executes(t, db, "ALTER TABLE %s %s", s.Table(), change)
				for i, bad := range []string{"\xff", "'", ""} {
					k := store.Key{Application: secret, Topic: secret, Tag: secret, ID: secret + bad}
					if _, err := s.Claim(within(t, ample), request(k, store.NewToken())); err != nil {
						discreet(t, err, secret)
					} else if i == 2 && name != "another unique key" && name != "a text" {
						t.Errorf("claim: got no error")
					}
					k.ID += "2"
					all := append(requests([]store.Key{k}), requests(newKeys(3))...)
					for _, a := range s.ClaimBatch(within(t, ample), all) {
						discreet(t, a.Err, secret)
					}
					_, err := s.Complete(within(t, ample), k, store.NewToken(), time.Hour)
					discreet(t, err, secret)
				}
				discreet(t, s.Check(within(t, ample)), secret)
			})
		}
		gone := over(t, opened(t, "root:"+password+"@tcp(127.0.0.1:1)/dedup"), "dedup_record")
		ctx, cancel := context.WithCancel(within(t, ample))
		cancel()
		for _, ctx := range []context.Context{within(t, ample), ctx} {
			_, err := gone.Claim(ctx, request(store.Key{Application: secret, Topic: "t", ID: secret}, store.NewToken()))
			discreet(t, err, secret)
			discreet(t, gone.Check(ctx), secret)
		}
	})
}

// discreet wants an error to say nothing that it must not.
func discreet(t *testing.T, err error, secret string) {
	t.Helper()
	if err == nil {
		return
	}
	text := strings.ToLower(err.Error())
	digits := hex.EncodeToString([]byte(secret))
	for _, hidden := range []string{strings.ToLower(secret), secret[:8], digits, digits[:16], password, "root:"} {
		if strings.Contains(text, strings.ToLower(hidden)) {
			t.Errorf("the error repeats %q: %v", hidden, err)
		}
	}
}
