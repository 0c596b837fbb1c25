package mysqlstore

import "github.com/rocketmq-dedup/rocketmq-dedup-go/store"

// Table is the quoted name of the table.
func (s *Store) Table() string { return s.table() }

// Where is a condition that only the record of k meets.
func (s *Store) Where(k store.Key) string {
	var c call
	s.call(&c, 0, k, store.Token{})
	return string(s.appendKey(nil, &c))
}
