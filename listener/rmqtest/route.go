package rmqtest

import (
	"encoding/json"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/listener/internal/remoting"
)

// queueData is how many queues a topic has on the one broker there is.
type queueData struct {
	Broker     string `json:"brokerName"`
	Read       int    `json:"readQueueNums"`
	Write      int    `json:"writeQueueNums"`
	Permission int    `json:"perm"`
	SysFlag    int    `json:"topicSysFlag"`
}

func (b *Broker) brokerData() remoting.Broker {
	return remoting.Broker{
		Name: brokerName, Cluster: clusterName, Addresses: map[string]string{"0": b.NameServer()},
	}
}

// onRoute answers where a topic is.
func (b *Broker) onRoute(r *request) *remoting.Command {
	queues, ok := b.queuesOf(r.text("topic"))
	if !ok {
		return refuse(topicNotExist, "No topic route info in name server for the topic: %s", r.text("topic"))
	}
	return asJSON(map[string]any{
		"brokerDatas": []remoting.Broker{b.brokerData()}, "queueDatas": []queueData{queues},
		"filterServerTable": struct{}{},
	})
}

func (b *Broker) queuesOf(name string) (queueData, bool) {
	q := queueData{Broker: brokerName, Permission: readAndWrite}
	if name == defaultTopic {
		q.Read, q.Write, q.Permission = b.o.Queues, b.o.Queues, readAndWrite|1 // inherited by new topics
		return q, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.log.topics[name]
	if t == nil && strings.HasPrefix(name, retryPrefix) && checkTopic(name) == nil {
		t = b.log.ensure(name, 1)
	}
	if t == nil {
		return queueData{}, false
	}
	q.Read, q.Write = t.read, t.write
	return q, true
}

func (b *Broker) onCluster(*request) *remoting.Command {
	return asJSON(map[string]any{
		"brokerAddrTable":  map[string]remoting.Broker{brokerName: b.brokerData()},
		"clusterAddrTable": map[string][]string{clusterName: {brokerName}},
	})
}

func (b *Broker) onListTopics(*request) *remoting.Command {
	b.mu.Lock()
	defer b.mu.Unlock()
	return asJSON(map[string]any{"topicList": b.log.names()})
}

func asJSON(v any) *remoting.Command {
	body, err := json.Marshal(v)
	if err != nil {
		return refuse(systemError, "%v", err)
	}
	return succeed(nil, body)
}
