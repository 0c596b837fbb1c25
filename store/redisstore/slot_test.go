package redisstore_test

import (
	"fmt"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// slotOf is the slot of a record's name by the specification of Redis Cluster:
// CRC-16/XMODEM of what is between the braces.
func slotOf(name string) int {
	_, name, _ = strings.Cut(name, "{")
	name, _, _ = strings.Cut(name, "}")
	var crc uint16
	for _, c := range []byte(name) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^c]
	}
	return int(crc % 16384)
}

var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()

// keysBelow are n new keys whose slots are below limit.
func keysBelow(limit, n int) []store.Key {
	var keys []store.Key
	series := store.NewToken().String()
	for i := 0; len(keys) < n; i++ {
		k := store.Key{Application: "app", Topic: "orders", Tag: "paid", ID: fmt.Sprintf("%s-%d", series, i)}
		if slotOf(recordName(k)) < limit {
			keys = append(keys, k)
		}
	}
	return keys
}
