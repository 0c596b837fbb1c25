package redisstore

import "strings"

// record is a value taken apart. lua/record.lua says what values there are.
type record struct {
	kind  byte
	token string
	keep  int64 // in milliseconds; 0 if it is not done
}

// decode is decode of lua/record.lua: it refuses what that refuses.
func decode(value string) (r record, ok bool) {
	const token = len("P|") + 32
	if len(value) <= token || value[1] != '|' || value[token] != '|' {
		return record{}, false
	}
	fields := shape(value[0])
	r = record{kind: value[0], token: value[2:token]}
	if fields == "" || !isHex(r.token) {
		return record{}, false
	}
	rest, more := value[token+1:], true
	for i := range len(fields) {
		var digits string
		if !more {
			return record{}, false
		}
		digits, rest, more = strings.Cut(rest, "|")
		n, ok := number(digits)
		if !ok || n == 0 && fields[i] == '+' {
			return record{}, false
		}
		if r.kind == 'D' {
			r.keep = n
		}
	}
	return r, !more
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// shape tells for each number of a record whether it may be zero.
func shape(kind byte) string {
	switch kind {
	case 'P':
		return "0++0" // attempt, lease, horizon, fence
	case 'R':
		return "0+0" // attempt, horizon, fence
	case 'D':
		return "+" // keep
	case 'X':
		return "0+" // attempt, keep
	}
	return ""
}

// number reads at most 13 digits without leading zeros.
func number(digits string) (n int64, ok bool) {
	if digits == "" || len(digits) > 13 || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = 10*n + int64(d)
	}
	return n, true
}
