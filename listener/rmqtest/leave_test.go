package rmqtest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

// join sends the heartbeat of a member of the group billing.
func (c *rawConn) join(client string) {
	c.t.Helper()
	c.joinAs(client, "CLUSTERING")
}

func (c *rawConn) joinAs(client, model string) {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{
		"clientID": client,
		"consumerDataSet": []any{map[string]any{
			"groupName": "billing", "messageModel": model,
			"subscriptionDataSet": []any{map[string]string{"topic": "orders", "subString": "*"}},
		}},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if answer := c.ask(rmqtest.Heartbeat, nil, body); answer.Code != remoting.Success {
		c.t.Fatalf("got %+v", answer)
	}
}

func members(t *testing.T, b *rmqtest.Broker) string {
	t.Helper()
	return string(ask(t, b, rmqtest.ConsumerIDs, fields("consumerGroup", "billing"), nil).Body)
}

func TestMembersHearOfOthersThatComeAndGo(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	stays, goes, cut := dial(t, b), dial(t, b), dial(t, b)
	stays.join("stays")
	heard := func(of string) {
		t.Helper()
		if c := stays.read(); c.Code != 40 || c.ExtFields["consumerGroup"] != "billing" {
			t.Fatalf("%s: got %+v", of, c)
		}
	}
	goes.join("goes")
	heard("a new member")
	cut.join("cut")
	heard("another")
	if got := members(t, b); got != `{"consumerIdList":["cut","goes","stays"]}` {
		t.Errorf("got the members %s", got)
	}
	goes.ask(rmqtest.UnregisterClient, fields("clientID", "goes", "consumerGroup", "billing"), nil)
	heard("a member that left")
	if err := cut.Close(); err != nil {
		t.Fatal(err)
	}
	heard("a member without a connection")
	if got := members(t, b); got != `{"consumerIdList":["stays"]}` {
		t.Errorf("got the members %s", got)
	}
}

func TestBroadcastingMembersHearNothingOfEachOther(t *testing.T) {
	t.Parallel()
	b := oneQueue(t)
	stays := dial(t, b)
	stays.joinAs("stays", "BROADCASTING")
	dial(t, b).joinAs("comes", "BROADCASTING")
	n := stays.tell(rmqtest.MaxOffset, about(), nil, 0)
	if c := stays.read(); c.Opaque != n {
		t.Errorf("got %+v, want the answer to the request", c)
	}
}

func TestSilentMembersAreForgotten(t *testing.T) {
	t.Parallel()
	b := rmqtest.Start(t)
	dial(t, b).join("silent")
	b.RemoveSilent(time.Hour)
	if got := members(t, b); !strings.Contains(got, "silent") {
		t.Errorf("got the members %s too early", got)
	}
	b.RemoveSilent(0)
	if got := members(t, b); got != "" {
		t.Errorf("got the members %s, want none", got)
	}
}
