package redisstore

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
