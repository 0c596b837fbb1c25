package listener_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/mysqlstore"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/storetest"
)

// stepTask is the environment variable that makes the test binary a consumer of
// the first step, to be killed in it: its dangerousStep as JSON.
const stepTask = "LISTENER_TEST_STEP"

// dangerousStep is where a consumer runs the first step and stops, in a form that
// another process can be told.
type dangerousStep struct {
	Place           place
	Orders, Records string // tables
	Next            string // topic
	Point           string // where it stops
}

// beStep prints the transaction id of the half message at the point where it
// stops. It ends with its standard input, should nobody kill it.
func beStep(task string) {
	var d dangerousStep
	err := json.Unmarshal([]byte(task), &d)
	if err == nil {
		err = d.join()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that matters
	os.Exit(0)
}

func (d *dangerousStep) join() error {
	_, db, err := d.Place.openMySQL()
	if err != nil {
		return err
	}
	records, err := mysqlstore.New(db, mysqlstore.Options{Table: d.Records})
	if err != nil {
		return err
	}
	half := make(chan string, 1)
	at := func(point string) func() error {
		return func() error {
			if d.Point == point {
				fmt.Println(<-half)
				select {}
			}
			return nil
		}
	}
	c := &chain{shop: &shop{db: db, orders: d.Orders}, next: d.Next}
	s := brittle{records, at(beforeCommit), at(afterCommit)}
	_, err = newMember(d.Place, "victim", s, listener.Options{}, func(m *member) error {
		out, err := m.Outgoing()
		if err != nil {
			return err
		}
		p, err := d.Place.newOut(tattler{out, half}, m.name)
		if err == nil {
			err = p.Start()
		}
		if err != nil {
			return err
		}
		return m.SubscribeTx(m.client, d.Place.Topic, consumer.MessageSelector{}, out.Step(p, c.book))
	})
	return err
}

// tattler tells the transaction id of the half that is stored.
type tattler struct {
	primitive.TransactionListener
	half chan<- string
}

func (l tattler) ExecuteLocalTransaction(m *primitive.Message) state {
	l.half <- m.TransactionId
	return l.TransactionListener.ExecuteLocalTransaction(m)
}

// Where a step may stop.
const (
	beforeCommit = "the half is stored, nothing is committed"
	afterCommit  = "all is committed, the broker has not been told"
)

// A process that dies in its step leaves a half message. The broker asks another
// one, which finds out what became of it.
func TestAStepThatDiesIsHandedOverOnce(t *testing.T) {
	t.Parallel()
	for point, want := range map[string]state{
		beforeCommit: primitive.RollbackMessageState,
		afterCommit:  primitive.CommitMessageState,
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			c := newChain(t, realBroker)
			c.MySQL = storetest.Server(t, "DEDUP_TEST_MARIADB")
			v := c.startStep(point)
			c.send("A-1")
			eventually(t, "the process is there", func() bool { return len(v.running()) > 0 })
			half := v.running()[0]
			v.kill()
			c.ships()
			c.books(c.book, false)
			c.shipped("A-1")
			eventually(t, "the broker has learned the end", func() bool { return c.answered(half, want) })
			if by := c.transactions("A-1"); len(by) != 1 || (by[0] == half) != (point == afterCommit) {
				t.Errorf("shipped by the transactions %v, that of the dead process is %s", by, half)
			}
		})
	}
}

// startStep starts a process that runs the first step and stops at the point.
func (c *chain) startStep(point string) *victim {
	c.t.Helper()
	task, err := json.Marshal(dangerousStep{
		Place: c.place, Orders: c.orders, Records: strings.TrimSuffix(c.orders, "_o") + "_r", Next: c.next, Point: point,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.startProcess(stepTask + "=" + string(task))
}
