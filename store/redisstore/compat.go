package redisstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
)

// NewJavaCompatible is [New] for a Store whose records are those of
// RocketMQDedupListener in Java, so that consumers of both take a topic's
// messages side by side and skip what the others have done. o.Prefix must be
// empty, because the names are the original's. "Beside the Java original" in the
// package comment says what holds in such a fleet and what does not.
func NewJavaCompatible(client redis.UniversalClient, o Options) (*Store, error) {
	var errPrefix error
	if o.Prefix != "" {
		errPrefix = fmt.Errorf("redisstore: Options.Prefix is %q, want none: the names are the original's", o.Prefix)
	}
	o.Prefix = compatPrefix
	s, err := New(client, o)
	if err := errors.Join(err, errPrefix); err != nil {
		return nil, err
	}
	s.compat = true
	return s, nil
}

const compatPrefix = "MSGDEDUP:"

// compatName is the original's name of the record. Nothing in it is escaped,
// bounded or hashed; without a tag its place is left out.
func compatName(k store.Key) string {
	if k.Tag == "" {
		return compatPrefix + k.Application + ":" + k.Topic + ":" + k.ID
	}
	return compatPrefix + k.Application + ":" + k.Topic + ":" + k.Tag + ":" + k.ID
}

// companion names the key of what the original has no place for, in the slot of
// the main key called name, whatever bytes that has.
//
// All companions begin with a brace, so none is the name of a main key. The name
// can be read back from each: it is what follows "}:o:" if the first } is
// followed by that, else what is between the braces. So no two main keys share
// a companion.
func companion(name string) string {
	if !strings.Contains(name, "}") {
		return "{" + name + "}:o"
	}
	tag, ok := hashTag(name)
	if !ok {
		tag = slotNumbers()[slot(name)]
	}
	return "{" + tag + "}:o:" + name
}
