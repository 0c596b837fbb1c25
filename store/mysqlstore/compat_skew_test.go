package mysqlstore_test

import (
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// The original goes by its own machine's clock. Less than Skew off, it neither
// deletes a live claim of ours nor has a live one of its own taken.
func TestAClockOfTheOriginalThatIsOffByLessThanSkewHarmsNobody(t *testing.T) {
	t.Parallel()
	const skew = 10 * time.Second
	onServers(t, func(t *testing.T, address string) {
		for what, ahead := range map[string]time.Duration{
			"ahead": skew - time.Second, "behind": -(skew - time.Second), "right": 0,
		} {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				p, _, s := shared(t, address, skew)
				o := newOriginal(p.open(t, ""))
				o.ahead = ahead

				brief := goldenKey("", "a claim of ours that is about to lapse")
				r := request(brief, store.NewToken())
				r.Lease = 500 * time.Millisecond // by the original's clock it has lapsed, or has much longer
				sent := time.Now()               // the lease begins later
				claims(t, s, r, 1)
				if got, err := o.meets(within(t, ample), brief); got != sendsBack && time.Since(sent) < r.Lease/2 || err != nil {
					t.Errorf("the original %s (%v), want that it %s", got, err, sendsBack)
				}

				theirs := goldenKey("", "a claim of theirs")
				o.expire = 500 * time.Millisecond
				sent = time.Now()
				o.wantMeets(t, theirs, runs)
				v, err := s.Claim(within(t, ample), request(theirs, store.NewToken()))
				if v.State != store.Busy && time.Since(sent) < o.expire/2 || err != nil {
					t.Errorf("got %+v, %v, want busy", v, err)
				}
				if least := skew + ahead + o.expire - time.Since(sent) - time.Millisecond; v.Left < least {
					t.Errorf("got %+v, want busy for %v at least", v, least)
				}

				released := goldenKey("", "what we gave back")
				r = request(released, store.NewToken())
				claims(t, s, r, 1)
				releases(t, s, released, r.Token)
				o.wantMeets(t, released, runs)

				done := goldenKey("", "what we have done")
				completes(t, s, done, store.NewToken(), time.Hour, store.Recreated)
				o.wantMeets(t, done, skips)
			})
		}
	})
}

// Beyond Skew the original deletes a claim of ours that is live.
func TestAClockThatIsOffByMoreThanSkewIsBeyondOurReach(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, address string) {
		p, _, s := shared(t, address, time.Second)
		o := newOriginal(p.open(t, ""))
		o.ahead = time.Minute + 2*time.Second
		k := goldenKey("", "A1001")
		claims(t, s, request(k, store.NewToken()), 1)
		o.wantMeets(t, k, runs)
	})
}
