package redisstore

import "github.com/rocketmq-dedup/rocketmq-dedup-go/store"

// DecodeLua is a script that answers what the scripts make of a record: its kind,
// token and keep, 0 for one without, or nothing.
var DecodeLua = recordLua + "return record and {record.kind, record.token, record.kind == 'D' and record.keep or 0}"

// Decode is what Go makes of a record.
func Decode(value string) (kind, token string, keep int64, ok bool) {
	r, ok := decode(value)
	if !ok {
		return "", "", 0, false
	}
	return string(r.kind), r.token, r.keep, true
}

// FastClaim is the command of the fast path of a claim.
func FastClaim(name string, t store.Token, lease, horizon int64) []any {
	return fastClaim(nil, name, string(appendClaim(nil, t, lease, horizon)), lease, horizon)
}

// FastComplete is the command of the fast path of a complete.
func FastComplete(name string, t store.Token, keep int64) []any {
	return fastComplete(nil, name, string(appendDone(nil, t, keep)), keep)
}

// JudgeClaim is what the fast path makes of the value that a claim met: the
// answer of the script, or nil.
func JudgeClaim(met string, found bool) []int64 { return judgeClaim(nil, met, found) }

// JudgeComplete is the same for a complete by token, and the longer keep that it
// has overwritten, or 0.
func JudgeComplete(token string, keep int64, met string, found bool) (answer []int64, longer int64) {
	c := &call{token: token, numbers: [4]int64{keep}}
	answer = judgeComplete(c, met, found)
	return answer, c.longer
}

// The sources of scripts.
var (
	ClaimLua    = claimScript.source
	CompleteLua = completeScript.source
	ProlongLua  = prolongScript.source
	ReleaseLua  = releaseScript.source
	RenewLua    = renewScript.source
)

// Classify is what tests see of the table of errors.
var Classify = classify

// ClassifiedReplies are the beginnings of answers that the table knows.
func ClassifiedReplies() []string {
	var prefixes []string
	for _, r := range replies {
		prefixes = append(prefixes, r.prefix)
	}
	return prefixes
}

// ClassifiedFailures are the names of the other errors that the table knows.
func ClassifiedFailures() []string {
	var names []string
	for _, f := range failures {
		names = append(names, f.what)
	}
	return names
}

// Companion names the second key of a record that is shared with the original.
var Companion = companion

// KeyOf reads a key back from the name of its record.
func (s *Store) KeyOf(name string) (k store.Key, hashed, ok bool) { return s.keyOf(name) }

// PlaceAgain reads a place and writes it again.
func (s *Store) PlaceAgain(text string) (string, error) {
	p, err := s.parsePlace(text)
	if err != nil {
		return "", err
	}
	return p.String(), nil
}
