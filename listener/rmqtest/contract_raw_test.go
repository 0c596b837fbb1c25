package rmqtest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/rmqtest"
)

func playLocks(s *stage) {
	say := func(what string, r rmqtest.Request, client string, queues ...int) {
		s.t.Helper()
		var set []any
		for _, q := range queues {
			set = append(set, map[string]any{"topic": s.topic, "brokerName": s.brokerName, "queueId": q})
		}
		answer := s.ask(r, nil, asJSON(s.t, map[string]any{"consumerGroup": s.group, "clientId": client, "mqSet": set}))
		var locked struct {
			Queues []struct {
				ID int `json:"queueId"`
			} `json:"lockOKMQSet"`
		}
		_ = json.Unmarshal(answer.Body, &locked) // the answer to unlocking has no body
		var ids []int
		for _, q := range locked.Queues {
			ids = append(ids, q.ID)
		}
		slices.Sort(ids)
		s.say("%s: code %d, locked %v", what, answer.Code, ids)
	}
	say("one locks both queues", rmqtest.LockQueues, "one", 0, 1)
	say("and again", rmqtest.LockQueues, "one", 0, 1)
	say("two wants both", rmqtest.LockQueues, "two", 0, 1)
	say("two unlocks what is not its own", rmqtest.UnlockQueues, "two", 0)
	say("one still has it", rmqtest.LockQueues, "one", 0)
	say("one unlocks a queue", rmqtest.UnlockQueues, "one", 0)
	say("two gets that", rmqtest.LockQueues, "two", 0, 1)
}

func playOffsets(s *stage) {
	show := func(what string) {
		s.t.Helper()
		answer := s.ask(rmqtest.QueryOffset, s.about(), nil)
		s.say("%s: min %d, max %d, committed code %d %s", what, s.offset(rmqtest.MinOffset), s.offset(rmqtest.MaxOffset),
			answer.Code, answer.ExtFields["offset"])
	}
	show("an empty queue")
	p := s.produceWith()
	for i := range 2 {
		send(s.t, p, message(s.topic, fmt.Sprint("A-", i), ""))
	}
	eventually(s.t, "the messages are counted", func() bool { return s.offset(rmqtest.MaxOffset) == 2 })
	show("a new group")
	between := time.Now().UnixMilli() + 1
	eventually(s.t, "the next millisecond", func() bool { return time.Now().UnixMilli() >= between })
	send(s.t, p, message(s.topic, "A-2", ""))
	eventually(s.t, "the message is counted", func() bool { return s.offset(rmqtest.MaxOffset) == 3 })
	for _, at := range []struct {
		what string
		ms   int64
	}{{"the epoch", 0}, {"before the last", between}, {"tomorrow", between + 86_400_000}} {
		s.say("offset by time, %s: %d", at.what, s.offset(rmqtest.SearchOffset, "timestamp", strconv.FormatInt(at.ms, 10)))
	}
	commit := func() int { return s.ask(rmqtest.UpdateOffset, s.about("commitOffset", "2"), nil).Code }
	s.say("commit for a group that no member has joined: code %d", commit())
	s.beat()
	s.say("commit for a group with a member: code %d", commit())
	show("after the commit")
}

func (s *stage) pulling(from int, more ...string) map[string]string {
	return s.about(append([]string{
		"queueOffset", strconv.Itoa(from), "maxMsgNums", "32", "sysFlag", "4", "commitOffset", "0",
		"suspendTimeoutMillis", "0", "subscription", "*", "subVersion", "0", "expressionType", "TAG",
	}, more...)...)
}

// beat makes the group have a member for the rest of the scenario.
func (s *stage) beat() {
	s.t.Helper()
	beat := map[string]any{"clientID": "127.0.0.1@" + s.group, "consumerDataSet": []any{map[string]any{
		"groupName": s.group, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
		"consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": []any{map[string]any{
			"topic": s.topic, "subString": "*", "expressionType": "TAG", "tagsSet": []string{}, "codeSet": []int{},
		}},
	}}}
	s.say("heartbeat: code %d", dialTo(s.t, s.broker).ask(rmqtest.Heartbeat, nil, asJSON(s.t, beat)).Code)
}

func playPulls(s *stage) {
	pull := func(what string, from int, more ...string) {
		s.t.Helper()
		answer := s.ask(rmqtest.PullMessage, s.pulling(from, more...), nil)
		s.say("%s: code %d, next %s, min %s, max %s, bytes: %t", what, answer.Code, answer.ExtFields["nextBeginOffset"],
			answer.ExtFields["minOffset"], answer.ExtFields["maxOffset"], len(answer.Body) > 0)
	}
	s.beat()
	pull("an empty queue", 0)
	pull("far beyond an empty queue", 7)
	p := s.produceWith()
	for i := range 3 {
		send(s.t, p, message(s.topic, fmt.Sprint("A-", i), "").WithTag("paid"))
	}
	eventually(s.t, "the messages are there", func() bool { return s.offset(rmqtest.MaxOffset) == 3 })
	pull("three messages", 0)
	pull("at most two", 0, "maxMsgNums", "2")
	pull("one of them", 2)
	pull("at the end", 3)
	pull("beyond the end", 4)
	pull("before the start", -1)
	pull("a tag that none has", 0, "subscription", "shipped")
	pull("a tag and no tag", 0, "subscription", "")
	pull("by the subscription of the group", 0, "sysFlag", "0")
	pull("by SQL", 0, "subscription", "a > 1", "expressionType", "SQL92")
	pull("of no topic", 0, "topic", s.topic+"-none")
	pull("of no queue", 0, "queueId", "1")
	pull("of a group without a member", 0, "consumerGroup", s.group+"-none", "sysFlag", "0")
	s.say("members: %s", strings.ReplaceAll(string(s.ask(rmqtest.ConsumerIDs, s.about(), nil).Body), " ", ""))
}

func playRefusals(s *stage) {
	born := strconv.FormatInt(time.Now().UnixMilli(), 10)
	sending := func(more ...string) map[string]string {
		return s.about(append([]string{
			"producerGroup", s.group, "defaultTopic", "TBW102", "defaultTopicQueueNums", "4", "sysFlag", "0",
			"bornTimestamp", born, "flag", "0", "properties", "", "reconsumeTimes", "0", "unitMode", "false",
		}, more...)...)
	}
	batch := func(topic string) map[string]string {
		return fields("a", s.group, "b", topic, "c", "TBW102", "d", "4", "e", "0", "f", "0", "g", born, "h", "0", "i", "",
			"j", "0", "k", "false", "m", "true", "n", s.brokerName)
	}
	body := []byte("two apples")
	for _, c := range []struct {
		what    string
		request rmqtest.Request
		fields  map[string]string
		body    []byte
	}{
		{"unknown request", 9999, nil, nil},
		{"send", rmqtest.SendMessage, sending(), body},
		{"send to a bad topic", rmqtest.SendMessage, sending("topic", "a b"), body},
		{"send to RocketMQ's topic", rmqtest.SendMessage, sending("topic", "TBW102"), body},
		{"send to the delayed", rmqtest.SendMessage, sending("topic", "SCHEDULE_TOPIC_XXXX"), body},
		{"send to no queue", rmqtest.SendMessage, sending("queueId", "1"), body},
		{"send to any queue", rmqtest.SendMessage, sending("queueId", "-1"), body},
		{"send of no body", rmqtest.SendMessage, sending(), nil},
		{"send of a long body", rmqtest.SendMessage, sending(), make([]byte, 4<<20+1)},
		{"send of long properties", rmqtest.SendMessage, sending("properties", "k\x01"+strings.Repeat("v", 40_000)), body},
		{"empty batch", rmqtest.SendBatch, batch(s.topic), nil},
		{"batch to a retry topic", rmqtest.SendBatch, batch("%RETRY%" + s.group), body},
		{"send back of nothing", rmqtest.SendBack, fields("group", s.group, "offset", "1", "delayLevel", "0",
			"originMsgId", "", "originTopic", s.topic, "unitMode", "false", "maxReconsumeTimes", "16"), nil},
		{"end of no half", rmqtest.EndTransaction, fields("producerGroup", s.group, "tranStateTableOffset", "0",
			"commitLogOffset", "1", "commitOrRollback", "8", "fromTransactionCheck", "false", "msgId", "",
			"transactionId", ""), nil},
		{"members of no group", rmqtest.ConsumerIDs, fields("consumerGroup", s.group+"-none"), nil},
		{"stats of no topic", rmqtest.GetTopicStats, fields("topic", s.topic+"-none"), nil},
		{"offset of no topic", rmqtest.UpdateOffset, s.about("topic", s.topic+"-none", "commitOffset", "1"), nil},
		{"offset of no queue", rmqtest.UpdateOffset, s.about("queueId", "9", "commitOffset", "1"), nil},
		{"heartbeat of nothing", rmqtest.Heartbeat, nil, nil},
		{"deletion of RocketMQ's topic", rmqtest.DeleteTopic, fields("topic", "TBW102"), nil},
		{"topic without a name", rmqtest.CreateTopic, creating(""), nil},
		{"topic with a bad name", rmqtest.CreateTopic, creating("a b"), nil},
		{"topic with RocketMQ's name", rmqtest.CreateTopic, creating("TBW102"), nil},
	} {
		answer := s.ask(c.request, c.fields, c.body)
		s.say("%s: code %d, says why: %t", c.what, answer.Code, answer.Remark != "")
	}
}

func creating(topic string) map[string]string {
	return fields("topic", topic, "defaultTopic", "TBW102", "readQueueNums", "1", "writeQueueNums", "1", "perm", "6",
		"topicFilterType", "SINGLE_TAG", "topicSysFlag", "0", "order", "false")
}

func playNewTopics(s *stage) {
	show := func(what, topic string) {
		s.t.Helper()
		answer := dialTo(s.t, s.nameServer).ask(rmqtest.GetRoute, fields("topic", topic), nil)
		if answer.Code != 0 {
			s.say("%s: code %d", what, answer.Code)
			return
		}
		s.say("%s: %d queues", what, s.queues(topic))
	}
	show("route of no topic", s.topic+"-none")
	show("route of a new group's retry topic", "%RETRY%"+s.group+"-new")
	s.deleteAtTheEnd("%RETRY%"+s.group+"-new", s.topic+"-auto", s.topic+"-few")
	send(s.t, s.produceWith(), message(s.topic+"-auto", "A-0", ""))
	show("topic of a producer that wishes nothing", s.topic+"-auto")
	sent := s.ask(rmqtest.SendMessage, s.about("topic", s.topic+"-few", "producerGroup", s.group, "defaultTopic", "TBW102",
		"defaultTopicQueueNums", "2", "sysFlag", "0", "bornTimestamp", "1", "flag", "0", "properties", "",
		"reconsumeTimes", "0", "unitMode", "false"), []byte("two apples"))
	s.say("sent: code %d", sent.Code)
	show("topic of a producer that wishes 2 queues", s.topic+"-few")
}
