package rmqtest

import "fmt"

// piece is one message of a batch.
type piece struct {
	flag       int32
	body       []byte
	properties properties
}

// decodeBatch reads the body of a batch send. The pieces share its memory.
func decodeBatch(body []byte) ([]piece, error) {
	var pieces []piece
	r := reader{rest: body}
	for len(r.rest) > 0 {
		before := len(r.rest)
		size := r.uint32()
		r.bytes(4 + 4) // magic code and checksum, which producers leave empty
		p := piece{flag: int32(r.uint32())}
		p.body = r.bytes(int64(r.uint32()))
		p.properties = properties(r.bytes(int64(r.uint16())))
		if r.short {
			return nil, errShort
		}
		if took := before - len(r.rest); int64(size) != int64(took) {
			return nil, fmt.Errorf("rmqtest: a piece of a batch has %d bytes and says %d", took, size)
		}
		pieces = append(pieces, p)
	}
	return pieces, nil
}
