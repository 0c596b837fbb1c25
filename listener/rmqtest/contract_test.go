package rmqtest_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

var record = flag.Bool("record", false, "write testdata/contract anew, as the broker of DEDUP_TEST_NAMESRV shows it")

// scenario is played once against each broker. What its clients see is its trace.
type scenario struct {
	name   string
	queues int // of its topic
	play   func(*stage)
	races  string // what of the client races with itself then, if anything
}

var scenarios = []scenario{
	{"single messages", 1, playSingle, ""},
	{"batch of the Go client", 1, playGoBatch, ""},
	{"batch as the Java client sends it", 1, playJavaBatch, ""},
	{"the Java client", 1, playJavaClient, ""},
	{"tags", 1, playTags, ""},
	{"delayed messages", 1, playDelayed, ""},
	{"retries and the dead letter", 1, playRetries, ""},
	{"straight to the dead letters", 1, playRejected, ""},
	{"transactions", 1, playTransactions, ""},
	{"restart of a consumer", 1, playRestart, "Shutdown"},
	{"first start of a group", 1, playFirstStart, ""},
	{"rebalance", 4, playRebalance, "Shutdown"},
	{"orderly consumption", 1, playOrderly, "orderly consumption"},
	{"locks of queues", 2, playLocks, ""},
	{"offsets", 1, playOffsets, ""},
	{"pulls", 1, playPulls, ""},
	{"refused requests", 1, playRefusals, ""},
	{"topics that nobody created", 1, playNewTopics, ""},
}

// difference is a line of a trace that rmqtest shows otherwise, on purpose.
type difference struct{ scenario, broker, rmqtest, why string }

// differences is the part of the list in the package comment that a trace shows;
// of times it shows none.
var differences = []difference{
	{
		scenario: "topics that nobody created",
		broker:   "route of a new group's retry topic: code 17",
		rmqtest:  "route of a new group's retry topic: 1 queues",
		why:      "the first retry of a new group would be 40 s late",
	}, {
		scenario: "refused requests",
		broker:   "send to RocketMQ's topic: code 0, says why: false",
		rmqtest:  "send to RocketMQ's topic: code 16, says why: true",
		why:      "TBW102 is a template and holds no messages",
	}, {
		scenario: "offsets",
		broker:   "commit for a group that no member has joined: code 26",
		rmqtest:  "commit for a group that no member has joined: code 0",
		why:      "a test can so choose where its consumers start",
	}, {
		scenario: "topics that nobody created",
		broker:   "topic of a producer that wishes 2 queues: 2 queues",
		rmqtest:  "topic of a producer that wishes 2 queues: 4 queues",
		why:      "Options.Queues decides",
	},
}

// What broker 5.3.3 showed is kept in testdata, so that rmqtest is compared with
// it where no broker is.
func TestClientsSeeOfRmqtestWhatTheBrokerShowed(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			levels := levelsOf(slowed)
			got := s.trace(t, rmqtest.Start(t, rmqtest.Options{DelayLevels: levels}).NameServer(), levels)
			wantTrace(t, asBroker(t, s.name, got), s.recorded(t))
		})
	}
}

func TestBrokerShowsWhatWasRecorded(t *testing.T) {
	t.Parallel()
	nameServer := storetest.Server(t, "DEDUP_TEST_NAMESRV")
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			got := s.trace(t, nameServer, levelsOf(time.Second))
			if *record {
				s.record(t, got)
			}
			wantTrace(t, got, s.recorded(t))
		})
	}
}

// slowed is the first delay level of rmqtest here, and the step to the next. A
// busy machine may take that time between two sends that are to be delayed.
const slowed = 300 * time.Millisecond

// levelsOf are those of scripts/services/broker.conf if unit is a second.
func levelsOf(unit time.Duration) []time.Duration {
	var levels []time.Duration
	for n := range time.Duration(18) {
		levels = append(levels, (n+1)*unit)
	}
	return levels
}

func (s scenario) trace(t *testing.T, nameServer string, levels []time.Duration) []string {
	t.Helper()
	if s.races != "" {
		skipRacyClient(t, s.races)
	}
	stage := newStage(t, nameServer, levels, s.queues)
	s.play(stage)
	return stage.lines
}

func (s scenario) file() string {
	return filepath.Join("testdata", "contract", strings.ReplaceAll(s.name, " ", "-")+".txt")
}

func (s scenario) recorded(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(s.file())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func (s scenario) record(t *testing.T, lines []string) {
	t.Helper()
	if err := os.WriteFile(s.file(), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// asBroker puts what the broker shows for each difference that is meant. A listed
// one that is not there is an error too.
func asBroker(t *testing.T, scenario string, lines []string) []string {
	t.Helper()
	lines = slices.Clone(lines)
	for _, d := range differences {
		if d.scenario != scenario {
			continue
		}
		i := slices.Index(lines, d.rmqtest)
		if i < 0 {
			t.Errorf("the difference %q (%s) is not there any more", d.rmqtest, d.why)
			continue
		}
		lines[i] = d.broker
	}
	return lines
}

func wantTrace(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("clients see (+) what they do not see of broker 5.3.3 (-):\n%s", strings.Join(diff(want, got), "\n"))
	}
}
