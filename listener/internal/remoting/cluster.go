package remoting

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// Broker is one group of a master and its slaves.
type Broker struct {
	Name      string            `json:"brokerName"`
	Cluster   string            `json:"cluster"`
	Addresses map[string]string `json:"brokerAddrs"` // by broker id; the master's is "0"
}

// Master is the master's host:port, "" when the broker has none now.
func (b Broker) Master() string { return b.Addresses["0"] }

// Queues tells how many queues of a topic a broker has.
type Queues struct {
	Broker string `json:"brokerName"`
	Read   int    `json:"readQueueNums"`
	Write  int    `json:"writeQueueNums"`
}

// Route says where a topic is: the answer to a route request.
type Route struct {
	Brokers []Broker `json:"brokerDatas"`
	Queues  []Queues `json:"queueDatas"`
}

// ParseRoute reads the body of a route answer.
func ParseRoute(body []byte) (Route, error) {
	var r Route
	if err := unmarshal(body, &r); err != nil {
		return Route{}, fmt.Errorf("remoting: route: %w", err)
	}
	return r, nil
}

// ParseCluster reads the body of a cluster answer: all brokers by name.
func ParseCluster(body []byte) (map[string]Broker, error) {
	var c struct {
		Brokers map[string]Broker `json:"brokerAddrTable"`
	}
	if err := unmarshal(body, &c); err != nil {
		return nil, fmt.Errorf("remoting: cluster: %w", err)
	}
	return c.Brokers, nil
}

// bareNumber is a number as the name of an object's member, which name servers
// write without quotes: {0:"10.0.0.1:10911"}.
var bareNumber = regexp.MustCompile(`([{,]\s*)(-?\d+)(\s*:)`)

func unmarshal(body []byte, into any) error {
	if !json.Valid(body) {
		body = bareNumber.ReplaceAll(body, []byte(`$1"$2"$3`))
	}
	return json.Unmarshal(body, into)
}
