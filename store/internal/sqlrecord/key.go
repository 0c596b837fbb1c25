package sqlrecord

import (
	"encoding/hex"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// Unbounded is the key whose bounded form a table holds. hashed tells that a
// part is known by its digest only, and left as it is.
func Unbounded(bounded store.Key) (k store.Key, hashed bool) {
	k = bounded
	for _, part := range []*string{&k.Application, &k.Topic, &k.Tag, &k.ID} {
		digest, tilde := strings.CutPrefix(*part, "~")
		switch {
		case strings.HasPrefix(digest, "~"):
			*part = digest
		case tilde && isDigest(digest):
			hashed = true
		}
	}
	return k, hashed
}

func isDigest(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 64
}
