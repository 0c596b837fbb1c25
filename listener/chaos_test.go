package listener_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

const (
	perSecond   = 500 // messages at least
	chaosQueues = 16
	fleetSize   = 5
)

// soakTime is how long a test goes on that only runs when the environment
// variable env says so.
func soakTime(t *testing.T, env string) time.Duration {
	t.Helper()
	text := os.Getenv(env)
	if text == "" {
		t.Skipf("SKIPPED: set %s to the time that this test may take, such as 2m; scripts/test.sh does", env)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 10*time.Second {
		t.Fatalf("%s is %q, want a time of 10s or more", env, text)
	}
	return d
}

// chaosSeed says what chaos does and when. What the machine makes of it differs
// all the same.
func chaosSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("DEDUP_TEST_CHAOS_SEED")
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("DEDUP_TEST_CHAOS_SEED is %q, want a number that an earlier run has printed", text)
	}
	return seed
}

// chaos is a fleet, its store, and the way between them.
type chaos struct {
	*fleet
	server breakable
	dead   bool // the server
	proxy  *testserver.Proxy
}

// Consumers are killed, paused for longer than their lease, join and leave while
// messages flow, and their store dies, hangs and is cut off. It is not parallel: it
// takes the whole machine. Its consumers are processes that it kills, which goes with
// the real broker only.
func TestChaosLosesNoKeyAndGrantsNoneAfterItsRecord(t *testing.T) {
	surviveChaos(t, soakTime(t, "DEDUP_TEST_CHAOS"), "Redis")
}

func TestChaosOverMySQLLosesNoKeyAndGrantsNoneAfterItsRecord(t *testing.T) {
	surviveChaos(t, soakTime(t, "DEDUP_TEST_CHAOS_MYSQL"), "MySQL")
}

// surviveChaos is chaos of d over a store of one of breakables.
func surviveChaos(t *testing.T, d time.Duration, kind string) {
	s := newScene(t, realBroker, chaosQueues)
	c := newChaos(s, kind)
	seed := c.befall(s, d, perSecond)
	j := newJudge(lease)
	c.finish(j.read, func() bool { return j.lost == 0 })
	t.Logf("figure: chaos store=%s seconds=%.0f seed=%d %v dead=%d", kind, d.Seconds(), seed, j.figures, s.dead())
	for _, floor := range j.missing(d, perSecond) {
		t.Error(floor)
	}
	j.findLost()
	for _, f := range j.findings {
		t.Errorf("%s: %s\n%s", f.what, f.note.line(), c.story(f.note))
	}
	if j.bad() > 0 {
		t.Error("want no key lost, none claimed after its record, and no two runs at once without a pause to blame")
	}
}

// newChaos starts a store of one of breakables, which has the records of s.
func newChaos(s *scene, kind string) *chaos {
	s.t.Helper()
	c := &chaos{server: breakables[kind].start(s.t)}
	c.proxy = testserver.NewProxy(s.t, c.server.Addr())
	breakables[kind].keep(s, c.proxy.Addr())
	return c
}

// befall has a fleet consume while more than perSecond messages are sent and chaos
// goes on for d. It returns the seed of that.
func (c *chaos) befall(s *scene, d time.Duration, perSecond int) (seed uint64) {
	s.t.Helper()
	seed = chaosSeed(s.t)
	s.t.Logf("seed %d; repeat with DEDUP_TEST_CHAOS_SEED", seed)
	c.fleet = newFleet(s.t, s.place, fleetSize)
	tr := s.startTraffic(c.diary, seed, perSecond*11/10)
	began := time.Now()
	carryOut(newPlan(seed, d), c.do)
	time.Sleep(d - time.Since(began))
	tr.stop()
	for range chaosQueues { // a queue is in order: once this has run, all of it was delivered
		tr.send(1)
	}
	return seed
}

// finish waits until done, which is asked when judge has been told what is written,
// lets all consumers leave, and tells judge the rest.
func (c *chaos) finish(judge func(note), done func() bool) {
	c.t.Helper()
	var offset int64
	read := func() {
		var err error
		if offset, err = readNotes(c.path, offset, judge); err != nil {
			c.t.Fatal(err)
		}
	}
	// A broker may take a consumer that has died for alive for 120 s, and the others
	// ask for their queues every 20 s.
	const limit = 4 * time.Minute
	for began := time.Now(); time.Since(began) < limit; time.Sleep(100 * time.Millisecond) {
		if read(); done() {
			break
		}
	}
	for len(c.members) > 0 {
		c.leave(c.members[0])
	}
	c.leaving.Wait()
	read()
}

// story is what the diary tells of the key of n, and of all else that happened at
// that time.
func (c *chaos) story(n note) string {
	var b strings.Builder
	_, err := readNotes(c.path, 0, func(other note) {
		incident := strings.ContainsRune("jlkpczrhx", rune(other.kind))
		if keyOf(other.key) == n.key || incident && n.at.Sub(other.at).Abs() < 6*lease {
			b.Write(other.line())
		}
	})
	if err != nil {
		c.t.Error(err)
	}
	return b.String()
}

// do does one deed and returns what undoes it.
func (c *chaos) do(d deed) (undo func()) {
	awake := c.awake()
	if len(awake) == 0 && d.kind < doRestart {
		c.t.Log("all consumers are asleep")
		return nil
	}
	switch d.kind {
	case doKill:
		mortal := c.mortal()
		c.kill(mortal[d.draw%len(mortal)])
		c.join()
	case doPause:
		return c.freeze(awake[d.draw%len(awake)])
	case doLeave:
		c.leave(awake[d.draw%len(awake)])
		return c.join
	case doRestart:
		c.tell(wentDown, 0)
		c.server.Kill()
		c.dead = true
		return func() {
			c.server.Restart()
			c.dead = false
			c.tell(restarted, 0)
		}
	case doCut:
		c.tell(cutOff, 0)
		cuts[d.draw%len(cuts)](c.proxy)
		return c.proxy.Heal
	case doHang:
		if c.dead {
			return nil
		}
		c.tell(hung, 0)
		c.server.Pause()
		return func() {
			if !c.dead {
				c.server.Resume()
			}
		}
	}
	return nil
}

// cuts are the ways to disturb the connections to the store.
var cuts = []func(*testserver.Proxy){
	(*testserver.Proxy).Cut,
	func(p *testserver.Proxy) { p.Refuse(true) },
	func(p *testserver.Proxy) { p.BlackHole(true) },
	func(p *testserver.Proxy) { p.SwallowReplies(20) },
	func(p *testserver.Proxy) { p.CutReplies(20) },
	func(p *testserver.Proxy) { p.BreakReplies(20) },
	func(p *testserver.Proxy) { p.BreakRequests(20) },
	func(p *testserver.Proxy) { p.Delay(lease / 10) },
}
