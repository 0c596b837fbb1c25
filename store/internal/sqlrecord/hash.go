// Package sqlrecord is what the stores in SQL databases have in common. Use this
// when you write one: it has the names of records and the rules of their life.
package sqlrecord

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// What the column status says. CONSUMING and CONSUMED are the words of the
// original; a claim that was given back is RELEASED until its horizon ends.
const (
	Consuming = "CONSUMING"
	Released  = "RELEASED"
	Consumed  = "CONSUMED"
	Parked    = "PARKED"
)

// Hash is the primary key of the record of a bounded key: the SHA-256 of its
// parts, each after its length, so that no two keys have the same bytes hashed.
func Hash(bounded store.Key) [sha256.Size]byte {
	var space [512]byte
	b := space[:0]
	for _, part := range [...]string{bounded.Application, bounded.Topic, bounded.Tag, bounded.ID} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return sha256.Sum256(b)
}
