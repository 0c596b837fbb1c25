package main

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

// headSize is how many bytes of a body tell what the message is: its number and
// that of its key, both big-endian.
const headSize = 8

// sequence is the order of keys in one queue of n messages, of which so many
// percent are copies. Keys are numbered from 0 in the order of their first
// message. The first half has no copy; from then on they come evenly, each at
// least half of the queue behind its key's first message, so that it is a copy of
// finished work, as most are in practice: one that meets its running original is
// sent back and comes again after seconds.
func sequence(n, percent int) (keys []int, distinct int) {
	copies := n * percent / 100
	lead := max(1, n/2)
	rest := n - lead
	copied := 0
	for i := range n {
		slot := i - lead
		if slot >= 0 && (slot+1)*copies/rest > slot*copies/rest {
			keys = append(keys, copied%lead)
			copied++
			continue
		}
		keys = append(keys, distinct)
		distinct++
	}
	return keys, distinct
}

// share is how many of n messages the queue i of so many gets.
func share(n, i, queues int) int {
	most := (n + queues - 1) / queues
	return max(0, min(most, n-i*most))
}

// keyName is the business key that a message carries in KEYS.
func keyName(key int) string { return "order-" + strconv.Itoa(key) }

// body is the body of the message with this number.
func body(size, message, key int) []byte {
	b := make([]byte, size)
	binary.BigEndian.PutUint32(b, uint32(message))
	binary.BigEndian.PutUint32(b[4:], uint32(key))
	for i := headSize; i < size; i++ {
		b[i] = 'x'
	}
	return b
}

// numbers reads a body back.
func numbers(body []byte) (message, key int, err error) {
	if len(body) < headSize {
		return 0, 0, fmt.Errorf("a body of %d bytes is none of ours", len(body))
	}
	return int(binary.BigEndian.Uint32(body)), int(binary.BigEndian.Uint32(body[4:])), nil
}
