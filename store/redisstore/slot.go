package redisstore

import (
	"strconv"
	"strings"
	"sync"
)

const slots = 16384

// slot is the cluster's hash slot of a string without hash tag.
func slot(s string) int {
	var crc uint16 // CRC-16/XMODEM
	for i := 0; i < len(s); i++ {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			if crc <<= 1; carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc % slots)
}

// hashTag returns what a cluster hashes of name when that is a part of it: what
// is between the first { and the first } after it, unless that is nothing.
func hashTag(name string) (tag string, ok bool) {
	_, rest, _ := strings.Cut(name, "{")
	tag, _, ok = strings.Cut(rest, "}")
	return tag, ok && tag != ""
}

// slotNumbers has for every slot the smallest number whose digits hash to it.
var slotNumbers = sync.OnceValue(func() *[slots]string {
	var numbers [slots]string
	for n, missing := 0, slots; missing > 0; n++ {
		digits := strconv.Itoa(n)
		if at := slot(digits); numbers[at] == "" {
			numbers[at] = digits
			missing--
		}
	}
	return &numbers
})
