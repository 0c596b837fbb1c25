// Package remoting speaks RocketMQ's remoting protocol. Use this when a question
// to a name server or broker is needed that the client's admin API cannot ask,
// or whose answer it does not check ([Caller]), or to read and write frames on a
// connection of your own ([Read], [Write]). A Caller keeps no connections and is
// not meant for messages.
package remoting

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// MaxFrame is the longest frame that is read, in bytes without its own length.
// It is RocketMQ's own limit.
const MaxFrame = 16 << 20

// The bits of Flag.
const (
	IsResponse = 1 // an answer
	IsOneWay   = 2 // a request that wants no answer
)

// Command is a request or a response.
type Command struct {
	Code      int               `json:"code"`
	Language  string            `json:"language"`
	Version   int               `json:"version"`
	Opaque    int32             `json:"opaque"` // the number that an answer repeats
	Flag      int               `json:"flag"`
	Remark    string            `json:"remark,omitempty"`
	ExtFields map[string]string `json:"extFields,omitempty"`
	Body      []byte            `json:"-"`
}

// Write sends c in one call of w.Write: total length, header length (whose
// first byte 0 means JSON), header, body.
func Write(w io.Writer, c *Command) error {
	header, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("remoting: header: %w", err)
	}
	length := 4 + len(header) + len(c.Body)
	if length > MaxFrame {
		return fmt.Errorf("remoting: a frame of %d bytes, want at most %d", length, MaxFrame)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+length), uint32(length))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(header)))
	frame = append(append(frame, header...), c.Body...)
	_, err = w.Write(frame)
	return err
}

// Read takes one frame from r. It reads no byte beyond it.
func Read(r io.Reader) (*Command, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(prefix[:])
	if length < 4 || length > MaxFrame {
		return nil, fmt.Errorf("remoting: a frame of %d bytes, want 4 to %d", length, MaxFrame)
	}
	frame := make([]byte, length)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, fmt.Errorf("remoting: frame cut short: %w", err)
	}
	return decode(frame)
}

func decode(frame []byte) (*Command, error) {
	encoding, headerLength := frame[0], binary.BigEndian.Uint32(frame)&0xFFFFFF
	body := frame[4:]
	if encoding != 0 {
		return nil, fmt.Errorf("remoting: header encoding %d, want 0 (JSON)", encoding)
	}
	if int(headerLength) > len(body) {
		return nil, fmt.Errorf("remoting: a header of %d bytes in a frame of %d", headerLength, len(frame))
	}
	c := &Command{Body: body[headerLength:]}
	if err := json.Unmarshal(body[:headerLength], c); err != nil {
		return nil, fmt.Errorf("remoting: header: %w", err)
	}
	return c, nil
}
