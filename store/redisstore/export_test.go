package redisstore

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
