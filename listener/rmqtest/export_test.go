package rmqtest

import (
	"net/netip"
	"time"
)

// RemoveSilent does at once what the broker does now and then, with a limit of
// the test's.
func (b *Broker) RemoveSilent(limit time.Duration) { b.removeSilent(limit) }

// Wire is a message with the fields that the tests of its encoding look at.
type Wire struct {
	Topic                               string
	Body                                []byte
	Properties                          string
	Queue, Flag, SysFlag, Reconsumed    int32
	QueueOffset, LogOffset, Born, Store int64
}

// EncodeMessage encodes as for storing.
func EncodeMessage(w Wire) []byte {
	host := netip.MustParseAddrPort("127.0.0.1:10911")
	m := message{
		topic: w.Topic, body: w.Body, properties: properties(w.Properties), queue: w.Queue, flag: w.Flag,
		sysFlag: w.SysFlag, reconsumed: w.Reconsumed, queueOffset: w.QueueOffset, logOffset: w.LogOffset,
		born: w.Born, bornHost: host, stored: w.Store, storeHost: host,
	}
	return m.encode()
}

// Reencode decodes a stored message and encodes it again.
func Reencode(raw []byte) ([]byte, error) {
	m, err := decodeMessage(raw)
	if err != nil {
		return nil, err
	}
	return m.encode(), nil
}

// DecodeBatch returns the bodies and properties of a batch.
func DecodeBatch(body []byte) (bodies [][]byte, props []string, err error) {
	pieces, err := decodeBatch(body)
	for _, p := range pieces {
		bodies, props = append(bodies, p.body), append(props, string(p.properties))
	}
	return bodies, props, err
}

// Property returns what properties say for a name, after another was set.
func Property(all, set, value, name string) string {
	return properties(all).with(set, value).get(name)
}
