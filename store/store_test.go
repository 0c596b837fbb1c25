package store_test

import (
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

var key = store.Key{Application: "billing", Topic: "orders", Tag: "paid", ID: "1"}

func request(change func(*store.ClaimRequest)) store.ClaimRequest {
	r := store.ClaimRequest{Key: key, Token: store.NewToken(), Lease: time.Second, Horizon: time.Hour}
	change(&r)
	return r
}

func TestClaimRequestValidateNamesEveryFieldThatIsOutOfBounds(t *testing.T) {
	type r = store.ClaimRequest
	for name, c := range map[string]struct {
		change func(*r)
		fields []string
	}{
		"zero token":             {func(r *r) { r.Token = store.Token{} }, []string{"Token"}},
		"no lease":               {func(r *r) { r.Lease = 0 }, []string{"Lease"}},
		"negative lease":         {func(r *r) { r.Lease = -time.Second }, []string{"Lease"}},
		"lease under a ms":       {func(r *r) { r.Lease = store.MinDuration - 1 }, []string{"Lease"}},
		"lease over the most":    {func(r *r) { r.Lease = store.MaxDuration + 1 }, []string{"Lease"}},
		"no horizon":             {func(r *r) { r.Horizon = 0 }, []string{"Horizon"}},
		"neither":                {func(r *r) { r.Lease, r.Horizon = 0, -1 }, []string{"Lease", "Horizon"}},
		"negative MaxAttempts":   {func(r *r) { r.MaxAttempts = -1 }, []string{"MaxAttempts"}},
		"limit without ParkKeep": {func(r *r) { r.MaxAttempts = 1 }, []string{"ParkKeep"}},
		"all of it": {func(r *r) { r.Lease, r.Horizon, r.MaxAttempts, r.ParkKeep = 0, 0, 1, -1 },
			[]string{"Lease", "Horizon", "ParkKeep"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantInvalid(t, request(c.change).Validate(), "", c.fields...)
		})
	}
	wantInvalid(t, request(func(r *r) { r.Key.ID = "" }).Validate(), "Key.", "ID")
}

func TestClaimRequestValidateAcceptsTheBounds(t *testing.T) {
	for _, d := range []time.Duration{store.MinDuration, store.MaxDuration} {
		r := request(func(r *store.ClaimRequest) { r.Lease, r.Horizon, r.MaxAttempts, r.ParkKeep = d, d, 1, d })
		if err := r.Validate(); err != nil {
			t.Errorf("durations of %v: got %v, want them valid", d, err)
		}
	}
	unlimited := request(func(r *store.ClaimRequest) { r.ParkKeep = -1 })
	if err := unlimited.Validate(); err != nil {
		t.Errorf("ParkKeep without MaxAttempts: got %v, want it ignored", err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = unlimited.Validate() }); n != 0 {
		t.Errorf("Validate of a good request: got %v allocations, want 0", n)
	}
}

func TestValidateOwnedAndKeptNameWhatIsOutOfBounds(t *testing.T) {
	token := store.NewToken()
	for _, validate := range []func(store.Key, store.Token) error{
		store.ValidateOwned,
		func(k store.Key, t store.Token) error { return store.ValidateKept(k, t, time.Hour) },
	} {
		if err := validate(key, token); err != nil {
			t.Errorf("got %v, want it valid", err)
		}
		wantInvalid(t, validate(key, store.Token{}), "", "Token")
		wantInvalid(t, validate(store.Key{Application: "a", ID: "1"}, token), "Key.", "Topic")
	}
	for _, keep := range []time.Duration{0, -1, store.MinDuration - 1, store.MaxDuration + 1} {
		wantInvalid(t, store.ValidateKept(key, token, keep), "", "keep")
	}
}
