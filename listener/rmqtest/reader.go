package rmqtest

import (
	"encoding/binary"
	"net/netip"
)

// reader takes numbers and bytes from a slice. Past the end it yields zeros and
// notes that the slice was too short.
type reader struct {
	rest  []byte
	short bool
}

// bytes takes n bytes, without a copy.
func (r *reader) bytes(n int64) []byte {
	if n > int64(len(r.rest)) {
		r.rest, r.short = nil, true
		return nil
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

// fixed takes n bytes, 8 at the most.
func (r *reader) fixed(n int64) (value uint64) {
	for _, b := range r.bytes(n) {
		value = value<<8 | uint64(b)
	}
	return value
}

func (r *reader) uint8() uint8   { return uint8(r.fixed(1)) }
func (r *reader) uint16() uint16 { return uint16(r.fixed(2)) }
func (r *reader) uint32() uint32 { return uint32(r.fixed(4)) }
func (r *reader) uint64() uint64 { return r.fixed(8) }

// host takes an IPv4 address and a port.
func (r *reader) host() netip.AddrPort {
	var ip [4]byte
	binary.BigEndian.PutUint32(ip[:], r.uint32())
	return netip.AddrPortFrom(netip.AddrFrom4(ip), uint16(r.uint32()))
}
