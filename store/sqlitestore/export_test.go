package sqlitestore

import "github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"

// SweepStep is for tests that want more than one.
const SweepStep = sweepStep

// Decode reads the columns of a row.
func Decode(columns [8]any) sqlrecord.Row { return (*values)(&columns).row() }

// Queries are the statements whose cost must not grow with the table.
var Queries = map[string]string{
	"statuses":       statusesQuery,
	"expired":        expiredQuery,
	"scan of all":    `SELECT ` + rowColumns + ` FROM dedup_record ` + scanAll,
	"scan of status": `SELECT ` + rowColumns + ` FROM dedup_record ` + scanStatus,
	"find":           findQuery,
}
