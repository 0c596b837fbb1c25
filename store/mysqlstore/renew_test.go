package mysqlstore_test

import (
	"errors"
	"testing"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
)

// A process that is frozen, or loses its power, in the middle of a transaction
// keeps all its rows locked until the server gives its connection up, which takes
// hours. What every process does all the time must not be one.
func TestRenewalsOfSeveralClaimsTakeNoTransaction(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := migrated(t, db, mysqlstore.Options{})
		db.SetMaxOpenConns(1) // the status is that of a connection
		begun := func() int64 {
			var name string
			var n int64
			if err := db.QueryRow("SHOW SESSION STATUS LIKE 'Com_begin'").Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		all := requests(newKeys(3))
		claimsAll(t, s, all)
		executes(t, db, "UPDATE %s SET expire_time = expire_time - 30000", s.Table())
		before := begun()
		for i, err := range s.Renew(within(t, ample), claimsOf(all)) {
			if err != nil {
				t.Errorf("renewal %d: %v", i, err)
			}
		}
		if n := begun() - before; n != 0 {
			t.Errorf("%d transactions were begun, want none", n)
		}
		if n := number(t, db, "SELECT COUNT(*) FROM %s WHERE expire_time - change_time >= lease_ms + horizon_ms",
			s.Table()); n != 3 {
			t.Errorf("%d claims have a lease of their own length again, want 3", n)
		}
	})
}

func TestOfSeveralRenewalsThoseOfRecordsThatCountAsAbsentAreLost(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		db := pool(t, address, "")
		s := migrated(t, db, mysqlstore.Options{})
		all := requests(newKeys(2))
		claimsAll(t, s, all)
		executes(t, db, "UPDATE %s SET expire_time = change_time - 1 WHERE %s", s.Table(), s.Where(all[1].Key))
		if errs := s.Renew(within(t, ample), claimsOf(all)); errs[0] != nil || !errors.Is(errs[1], store.ErrNotOwner) {
			t.Errorf("got %v, want nil and %v", errs, store.ErrNotOwner)
		}
	})
}

func claimsOf(all []store.ClaimRequest) (claims []store.Claim) {
	for _, r := range all {
		claims = append(claims, store.Claim{Key: r.Key, Token: r.Token})
	}
	return claims
}
