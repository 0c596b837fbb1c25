package listener_test

import (
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/memstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest/testserver"
)

// stage is the broker on which a test plays its scenes.
type stage string

const (
	realBroker stage = "real"    // skips the test where there is none
	inProcess  stage = "rmqtest" // always there, with delay levels of milliseconds
)

// onBrokers has test play its scenes on each broker. What kills processes, or
// takes minutes to show what it does at RocketMQ's own pace, is for the real one.
func onBrokers(t *testing.T, test func(*testing.T, stage)) {
	t.Parallel()
	for _, on := range []stage{realBroker, inProcess} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}

// brief is d, or a part of it where the delay levels are short.
func (on stage) brief(d time.Duration) time.Duration {
	if on == inProcess {
		return d / 4
	}
	return d
}

// longLease is longer than what the broker would choose for a first retry. A busy
// machine renews it early enough on both.
func (on stage) longLease() time.Duration {
	if on == inProcess {
		return lease
	}
	return 5 * time.Second
}

// enter finds the servers of the scene's stage. In process the records are in
// memory.
func (s *scene) enter() {
	s.t.Helper()
	if s.stage == realBroker {
		s.NameServer, s.Levels = storetest.Server(s.t, "DEDUP_TEST_NAMESRV"), testLevels()
		s.keepRecordsIn(storetest.Server(s.t, "DEDUP_TEST_REDIS"))
		return
	}
	s.rmq = rmqtest.Start(s.t)
	s.NameServer, s.Levels = s.rmq.NameServer(), s.rmq.DelayLevels()
	records, err := memstore.New(memstore.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.records = records
}

// needRedis returns the address of the Redis with the scene's records, a private
// one in process.
func (s *scene) needRedis() string {
	s.t.Helper()
	if s.stage == inProcess {
		s.Redis = testserver.Redis(s.t).Addr()
	}
	return s.Redis
}

// skipRacyClient skips, under the race detector, a test in which the client
// races with itself.
func skipRacyClient(t *testing.T, where string) {
	t.Helper()
	if raceDetector {
		t.Skip("the client races with itself in ", where)
	}
}
