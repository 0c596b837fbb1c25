package rmqtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"strings"
)

// message is a message that is stored or will be.
type message struct {
	topic      string
	queue      int32
	flag       int32 // the application's
	sysFlag    int32
	body       []byte
	properties properties
	born       int64 // milliseconds, by the producer's clock
	bornHost   netip.AddrPort
	reconsumed int32
	prepared   int64 // where the half message of a committed one was stored

	// What storing adds.
	queueOffset, logOffset int64
	stored                 int64 // milliseconds
	storeHost              netip.AddrPort
}

// The bits of sysFlag.
const (
	commitType     = 2 << 2
	transactionAny = 3 << 2
	bornHostV6     = 1 << 4
	storeHostV6    = 1 << 5
)

const (
	magicCode     = 0xDAA320A7
	maxBody       = 4 << 20
	maxProperties = 1<<15 - 1
	maxTopic      = 255
	fixedSize     = 4 + 4 + 4 + 4 + 4 + 8 + 8 + 4 + 8 + 8 + 8 + 8 + 4 + 8 + 4 + 1 + 2
)

// check tells why the message cannot be stored.
func (m *message) check() error {
	switch {
	case len(m.body) > maxBody:
		return fmt.Errorf("a body of %d bytes, want at most %d", len(m.body), maxBody)
	case len(m.properties) > maxProperties:
		return fmt.Errorf("properties of %d bytes, want at most %d", len(m.properties), maxProperties)
	case len(m.topic) > maxTopic:
		return fmt.Errorf("a topic of %d bytes, want at most %d", len(m.topic), maxTopic)
	}
	return nil
}

func (m *message) size() int { return fixedSize + len(m.body) + len(m.topic) + len(m.properties) }

// encode returns the form in which messages are stored and sent. The hosts must
// be IPv4 addresses.
func (m *message) encode() []byte {
	out, be := make([]byte, 0, m.size()), binary.BigEndian
	out = be.AppendUint32(out, uint32(m.size()))
	out = be.AppendUint32(out, magicCode)
	out = be.AppendUint32(out, crc32.ChecksumIEEE(m.body)&0x7FFFFFFF)
	out = be.AppendUint32(out, uint32(m.queue))
	out = be.AppendUint32(out, uint32(m.flag))
	out = be.AppendUint64(out, uint64(m.queueOffset))
	out = be.AppendUint64(out, uint64(m.logOffset))
	out = be.AppendUint32(out, uint32(m.sysFlag&^(bornHostV6|storeHostV6)))
	out = be.AppendUint64(out, uint64(m.born))
	out = appendHost(out, m.bornHost)
	out = be.AppendUint64(out, uint64(m.stored))
	out = appendHost(out, m.storeHost)
	out = be.AppendUint32(out, uint32(m.reconsumed))
	out = be.AppendUint64(out, uint64(m.prepared))
	out = be.AppendUint32(out, uint32(len(m.body)))
	out = append(out, m.body...)
	out = append(append(out, byte(len(m.topic))), m.topic...)
	out = be.AppendUint16(out, uint16(len(m.properties)))
	return append(out, m.properties...)
}

func appendHost(out []byte, host netip.AddrPort) []byte {
	ip := host.Addr().As4()
	return binary.BigEndian.AppendUint32(append(out, ip[:]...), uint32(host.Port()))
}

var errShort = errors.New("rmqtest: message cut short")

// decodeMessage reads one stored message, which must fill raw.
func decodeMessage(raw []byte) (*message, error) {
	r := reader{rest: raw}
	size, magic, crc := r.uint32(), r.uint32(), r.uint32()
	m := &message{queue: int32(r.uint32()), flag: int32(r.uint32())}
	m.queueOffset, m.logOffset = int64(r.uint64()), int64(r.uint64())
	m.sysFlag, m.born = int32(r.uint32()), int64(r.uint64())
	m.bornHost = r.host()
	m.stored = int64(r.uint64())
	m.storeHost = r.host()
	m.reconsumed, m.prepared = int32(r.uint32()), int64(r.uint64())
	m.body = r.bytes(int64(r.uint32()))
	m.topic = string(r.bytes(int64(r.uint8())))
	m.properties = properties(r.bytes(int64(r.uint16())))
	switch {
	case r.short:
		return nil, errShort
	case int64(size) != int64(len(raw)) || len(r.rest) > 0:
		return nil, fmt.Errorf("rmqtest: a message of %d bytes, %d over, says %d", len(raw), len(r.rest), size)
	case magic != magicCode || m.sysFlag&(bornHostV6|storeHostV6) != 0:
		return nil, fmt.Errorf("rmqtest: a message with magic code %#x and flags %#x", magic, m.sysFlag)
	case crc != crc32.ChecksumIEEE(m.body)&0x7FFFFFFF:
		return nil, fmt.Errorf("rmqtest: the body does not match its checksum %#x", crc)
	}
	return m, nil
}

// offsetID is the id that the broker gives: where the message is stored.
func offsetID(host netip.AddrPort, logOffset int64) string {
	id := binary.BigEndian.AppendUint64(appendHost(nil, host), uint64(logOffset))
	return strings.ToUpper(fmt.Sprintf("%x", id))
}
