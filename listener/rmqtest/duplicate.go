package rmqtest

import "math/rand/v2"

// copying is which messages are stored twice.
type copying struct {
	percent int
	random  *rand.Rand
}

// DuplicateDeliveries makes consumers receive about percent of the messages that
// are stored from now on a second time: the broker stores them twice, as after a
// producer that saw no answer and sent again. The copy has the same body, keys
// and UNIQ_KEY but an offset of its own, in the next queue of the topic unless
// the message has a sharding key, so that both may be consumed at the same time.
// Which messages it is depends on the seed and their order alone. Messages in
// dead letter queues have no copies.
func (b *Broker) DuplicateDeliveries(percent int, seed uint64) {
	b.faults.mu.Lock()
	defer b.faults.mu.Unlock()
	b.faults.copies = copying{percent: percent, random: rand.New(rand.NewPCG(seed, 1))}
}

func (f *faults) duplicates() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.copies.percent > 0 && f.copies.random.IntN(100) < f.copies.percent
}
