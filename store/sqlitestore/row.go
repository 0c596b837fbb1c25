package sqlitestore

import (
	"math"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// rowColumns are those of a [sqlrecord.Row], in the order of values and of
// arguments.
const rowColumns = `status, owner, attempts, lease_ms, horizon_ms, keep_ms, fence, expire_time`

// values are the columns of a row as SQLite gives them: of any type, whatever
// the column says.
type values [8]any

func (v *values) targets() []any {
	targets := make([]any, len(v))
	for i := range v {
		targets[i] = &v[i]
	}
	return targets
}

// row reads the values. The row of a status that nobody knows stands for all
// that no store writes; one without an expiry never expires.
func (v *values) row() sqlrecord.Row {
	var r sqlrecord.Row
	status, ok := v[0].(string)
	owner, isBytes := v[1].([]byte)
	ok = ok && isBytes && len(owner) == len(r.Owner)
	copy(r.Owner[:], owner)
	r.Expires = math.MaxInt64
	for i, number := range [...]struct {
		to   *int64
		most int64
	}{
		{&r.Attempts, math.MaxInt32}, {&r.Lease, maxDuration}, {&r.Horizon, maxDuration}, {&r.Keep, maxDuration},
		{&r.Fence, math.MaxInt64}, {&r.Expires, math.MaxInt64},
	} {
		n, isNumber := v[2+i].(int64)
		if !isNumber || n < 0 || n > number.most {
			ok = false
			continue
		}
		*number.to = n
	}
	if r.Status = status; !ok || !r.Valid() {
		r.Status = ""
	}
	return r
}

var maxDuration = store.MaxDuration.Milliseconds()

// arguments are the columns of a row to be written.
func arguments(r *sqlrecord.Row) []any {
	return []any{r.Status, r.Owner[:], r.Attempts, r.Lease, r.Horizon, r.Keep, r.Fence, r.Expires}
}
