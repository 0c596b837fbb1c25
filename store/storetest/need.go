package storetest

import "github.com/rocketmq-dedup/rocketmq-dedup-go/store"

// need is the set of abilities and hooks without which a case cannot run.
type need uint16

const (
	renewer need = 1 << iota
	parker
	fencer
	batcher
	pulser
	getter
	forgetter
	scanner
	sweeper
	corrupt
	wrongType
	persist
	hasExpiry
	silent
)

// missing names what n asks for and neither the store nor the hooks have.
func (n need) missing(s store.Store, h Hooks) string {
	_, renews := s.(store.Renewer)
	_, parks := s.(store.Parker)
	_, fences := s.(store.Fencer)
	_, batches := s.(store.Batcher)
	_, pulses := s.(store.Pulser)
	_, gets := s.(store.Getter)
	_, forgets := s.(store.Forgetter)
	_, scans := s.(store.Scanner)
	_, sweeps := s.(store.Sweeper)
	for _, part := range []struct {
		need need
		have bool
		name string
	}{
		{renewer, renews, "store.Renewer"},
		{parker, parks, "store.Parker"},
		{fencer, fences, "store.Fencer"},
		{batcher, batches, "store.Batcher"},
		{pulser, pulses, "store.Pulser"},
		{getter, gets, "store.Getter"},
		{forgetter, forgets, "store.Forgetter"},
		{scanner, scans, "store.Scanner"},
		{sweeper, sweeps, "store.Sweeper"},
		{corrupt, h.Corrupt != nil, "Corrupt hook"},
		{wrongType, h.WrongType != nil, "WrongType hook"},
		{persist, h.Persist != nil, "Persist hook"},
		{hasExpiry, h.HasExpiry != nil, "HasExpiry hook"},
		{silent, h.Silent != nil, "Silent hook"},
	} {
		if n&part.need != 0 && !part.have {
			return part.name
		}
	}
	return ""
}
