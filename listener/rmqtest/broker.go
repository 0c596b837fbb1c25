package rmqtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

// Broker is a running name server and broker. Its methods may be called by any
// number of goroutines.
type Broker struct {
	o        Options
	listener net.Listener
	agenda   *agenda
	faults   faults

	closing sync.Once
	done    chan struct{}  // closed by Close
	work    sync.WaitGroup // every goroutine of the broker

	mu        sync.Mutex // guards everything below
	conns     map[*conn]bool
	random    *rand.Rand
	log       *messageLog
	offsets   offsets
	groups    map[string]*group
	producers map[string]map[string]*conn // by group and client id
	locks     map[lockedQueue]lock
	halves    map[int64]*half // by the offsets of their copies
	delivered history
}

// New starts a broker. Close it when it is no longer needed.
func New(o Options) (*Broker, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("rmqtest: %w", err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("rmqtest: %w", err)
	}
	b := &Broker{
		o:         o,
		listener:  l,
		agenda:    newAgenda(),
		done:      make(chan struct{}),
		conns:     map[*conn]bool{},
		random:    rand.New(rand.NewPCG(o.Seed, 0)),
		log:       newMessageLog(addrPort(l.Addr()), o.MaxBytes),
		offsets:   offsets{},
		groups:    map[string]*group{},
		producers: map[string]map[string]*conn{},
		locks:     map[lockedQueue]lock{},
		halves:    map[int64]*half{},
	}
	b.work.Go(b.accept)
	b.work.Go(func() { b.agenda.run(b.done) })
	b.forgetSilentMembers()
	return b, nil
}

// TB is what [Start] needs of a test; *testing.T, *testing.B and *testing.F have it.
type TB interface {
	Helper()                           // marks the caller as a helper of the test
	Cleanup(func())                    // has a function called when the test ends
	Fatalf(format string, args ...any) // ends the test as failed
}

// Start starts a broker that is closed when the test ends, and fails the test if
// that is not possible. At most one Options may be given. Stop the consumers and
// producers in cleanups of their own, which run before that of the broker.
func Start(tb TB, o ...Options) *Broker {
	tb.Helper()
	if len(o) > 1 {
		tb.Fatalf("rmqtest: Start was given %d Options, want one at most", len(o))
	}
	b, err := New(append(o, Options{})[0])
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(b.Close)
	return b
}

// Close cuts all connections, forgets all messages and returns once nothing of
// the broker runs any more. Closing it again does nothing.
func (b *Broker) Close() {
	b.closing.Do(func() {
		close(b.done)
		_ = b.listener.Close() // nothing depends on how it ends
		b.cut(func(*conn) bool { return true })
	})
	b.work.Wait()
}

// NameServer is the host:port of the name server, and of the broker too.
func (b *Broker) NameServer() string { return b.listener.Addr().String() }

// DelayLevels are the delays of the levels 1, 2 and so on.
func (b *Broker) DelayLevels() []time.Duration { return slices.Clone(b.o.DelayLevels) }
