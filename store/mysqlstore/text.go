package mysqlstore

import (
	"encoding/hex"
	"strconv"
)

// Values are written into statements as numbers and hex digits. These mean the
// same under every sql_mode, character set and option of the driver, cannot be
// anything but values, and need no prepared statements, which would cost two
// more round trips each.

func appendHex[B ~[]byte | ~string](text []byte, value B) []byte {
	text = append(text, "X'"...)
	text = hex.AppendEncode(text, []byte(value))
	return append(text, '\'')
}

func appendNumber(text []byte, n int64) []byte { return strconv.AppendInt(text, n, 10) }

// appendNames appends the values of the columns layout.names.
func (s *Store) appendNames(text []byte, c *call) []byte {
	values := s.nameValues(c)
	for i, value := range values[:len(s.layout.names)] {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendHex(text, value)
	}
	return text
}

// nameValues are the values of layout.names.
func (s *Store) nameValues(c *call) [5]string {
	p := &c.parts
	if s.compat() {
		return [5]string{p.Application, p.Topic, p.Tag, p.ID}
	}
	return [5]string{string(c.id[:]), p.Application, p.Topic, p.Tag, p.ID}
}

// appendKey appends a condition that only the record of c meets.
func (s *Store) appendKey(text []byte, c *call) []byte {
	values := s.nameValues(c)
	for i, name := range s.layout.names[:s.layout.keys] {
		if i > 0 {
			text = append(text, " AND "...)
		}
		text = append(append(text, name...), '=')
		text = appendHex(text, values[i])
	}
	return text
}

// appendKeys appends a condition that only the records of the calls meet.
func (s *Store) appendKeys(text []byte, calls []*call) []byte {
	if s.layout.keys == 1 {
		text = append(append(text, s.layout.names[0]...), " IN ("...)
		for i, c := range calls {
			if i > 0 {
				text = append(text, ',')
			}
			text = appendHex(text, c.id[:])
		}
		return append(text, ')')
	}
	return s.appendEach(text, calls, s.appendKey)
}

// appendOwned appends a condition that only those records of the calls meet
// whose owner is the call's. Rows of (key, owner) IN would be as good, but make
// the servers read the whole table.
func (s *Store) appendOwned(text []byte, calls []*call) []byte {
	return s.appendEach(text, calls, func(text []byte, c *call) []byte {
		text = append(s.appendKey(text, c), " AND owner="...)
		return appendHex(text, c.token[:])
	})
}

func (s *Store) appendEach(text []byte, calls []*call, appendOne func([]byte, *call) []byte) []byte {
	for i, c := range calls {
		if i > 0 {
			text = append(text, " OR "...)
		}
		text = append(appendOne(append(text, '('), c), ')')
	}
	return text
}

// appendRow appends what a claim or a complete inserts.
func (s *Store) appendRow(text []byte, c *call) []byte {
	text = append(text, '(')
	text = s.appendNames(text, c)
	status := ",'CONSUMING',"
	if c.op != opClaim {
		status = ",'CONSUMED',"
	}
	numbers, expires := s.rowValues(c)
	text = appendHex(append(text, status...), c.token[:])
	for _, n := range numbers {
		text = appendNumber(append(text, ','), n)
	}
	text = append(append(append(text, ','), now...), ',')
	text = append(append(text, now...), '+')
	text = appendNumber(text, expires)
	if s.compat() {
		text = appendNumber(append(text, ','), s.skewOf(c))
	}
	return append(text, ')')
}

// rowValues are what a claim or a complete inserts from attempts to found, and
// how far from now it expires.
func (s *Store) rowValues(c *call) (numbers [6]int64, expires int64) {
	switch c.op {
	case opComplete:
		return [...]int64{0, 0, 0, 0, c.keep, codeRecreated}, c.keep
	case opTransact:
		return [...]int64{1, 0, 0, 0, c.keep, codeCompleted}, c.keep
	}
	return [...]int64{1, c.maxAttempts, c.lease, c.horizon, c.keep, 0}, c.lease + s.beyond(c)
}

// upsert is the statement for claims and completes.
func (s *Store) upsert(calls []*call) string {
	cut := s.texts.upsert
	text := make([]byte, 0, len(cut[0])+len(cut[1])+512*len(calls))
	text = append(text, cut[0]...)
	for i, c := range calls {
		if i > 0 {
			text = append(text, ',')
		}
		text = s.appendRow(text, c)
	}
	return string(append(text, cut[1]...))
}

// read is the statement that reads back what became of calls.
func (s *Store) read(calls []*call) string {
	cut := s.texts.read
	text := make([]byte, 0, len(cut[0])+len(cut[1])+80*len(calls))
	text = s.appendKeys(append(text, cut[0]...), calls)
	return string(append(text, cut[1]...))
}

// owned is the statement cut, for the owners of calls.
func (s *Store) owned(cut []string, calls []*call) string {
	text := s.appendOwned([]byte(cut[0]), calls)
	return string(append(text, cut[1]...))
}
