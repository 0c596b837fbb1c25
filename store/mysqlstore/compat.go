package mysqlstore

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// NewJavaCompatible is [New] for a table that consumers of the Java original
// use, too; see the package documentation. [Store.Migrate] upgrades their table
// in place.
func NewJavaCompatible(db *sql.DB, o Options) (*Store, error) {
	o = o.withDefaults("t_rocketmq_dedup")
	if o.Skew == 0 {
		o.Skew = defaultSkew
	}
	return open(db, o, javaLayout(o.Skew.Milliseconds()))
}

// javaPart is how long a part of a key may be, in bytes, to be stored as the
// original stores it. A longer one is its digest, filled up to one byte more, so
// that no short part can pass for it; four of these are what fits into an index.
const javaPart = 765

// javaLayout is the layout of the original's table, with columns of ours that
// its statements never name. What it writes has their defaults: the owner 0,
// and lengths of 0.
//
// The original knows nothing but CONSUMING and CONSUMED; what else a record of
// ours is says the column mark, which counts for CONSUMING only. expire_time of
// a claim is when the original may take it, skew_ms after its lease.
func javaLayout(skew int64) *layout {
	theirs := "owner = " + zeroToken
	s := strconv.FormatInt(skew, 10)
	return &layout{
		table: "java",
		names: []string{"application_name", "topic", "tag", "msg_uniq_key"},
		keys:  4,
		more:  ", skew_ms",
		over:  "skew_ms",
		// The original takes what expired before its own now, which may be as late.
		memory:   "(-1 - " + s + ")",
		leaseEnd: "IF(" + theirs + ", LEAST(expire_time, 9000000000000000) + " + s + ", expire_time - skew_ms)",
		// status is compared as the original does, byte for byte.
		state: "CASE CAST(CONVERT(status USING utf8) AS BINARY) WHEN 'CONSUMED' THEN 'CONSUMED'" +
			" WHEN 'CONSUMING' THEN IF(mark = '', 'CONSUMING', mark) ELSE 'CORRUPT' END",
		absent:  "IF({state} IN ('CONSUMING', 'RELEASED'), {leaseEnd} <= {now} - horizon_ms, expire_time <= {now})",
		bounded: "owner <> " + zeroToken,
		latest:  "9223372036854775807", // keep_ms is not to be trusted: the original does not write it
		stages: map[store.Status][]string{
			store.StatusConsuming: {sqlrecord.Consuming},
			store.StatusLapsed:    {sqlrecord.Consuming},
			store.StatusConsumed:  {sqlrecord.Consumed},
			store.StatusParked:    {sqlrecord.Consuming},
		},
		sweeps: []string{
			"status = 'CONSUMED'", "status = 'CONSUMING'", "status NOT IN ('CONSUMED', 'CONSUMING')",
		},
		decide: `mark = CASE
	WHEN {code} IN ({claimed.code}, {ended.codes}) THEN ''
	WHEN {code} = {park.code} THEN 'PARKED'
	ELSE mark END,
skew_ms = CASE
	WHEN {code} = {claimed.code} THEN VALUES(skew_ms)
	WHEN {code} IN ({park.code}, {ended.codes}) THEN 0
	ELSE skew_ms END,
status = CASE
	WHEN {code} IN ({claimed.code}, {park.code}) THEN 'CONSUMING'
	WHEN {code} IN ({ended.codes}) THEN 'CONSUMED'
	ELSE status END,`,
		released:  "skew_ms = -" + s + ", mark = 'RELEASED'",
		setParked: "skew_ms = 0, mark = 'PARKED'",
	}
}

// notOriginals are the columns of the original that a table does not have. One of
// that name may be another program's, whose rows mean something else.
func (l *live) notOriginals(want *layout) []obstacle {
	var missing []obstacle
	for _, c := range want.columns() {
		if _, found := l.columns[c.name]; !found && !c.defaulted {
			missing = append(missing, obstacle{"the column " + c.name + " is missing, so it is not the original's table",
				"give Options.Table another name"})
		}
	}
	return missing
}

// recoded are changes that bring the parts of keys into UTF-8, in which both
// sides send them, before they become bytes.
func (l *live) recoded(names []string) []string {
	var changes []string
	for _, name := range names {
		switch c := l.columns[name]; c.charset {
		case "", "utf8", "utf8mb3", "utf8mb4", "ascii", "binary":
		case "utf16", "utf16le", "utf32", "gb18030": // which have more characters than three bytes of UTF-8
			changes = append(changes, fmt.Sprintf("MODIFY COLUMN %s VARCHAR(%d) CHARACTER SET utf8mb4 NOT NULL", name, c.chars))
		default:
			changes = append(changes, fmt.Sprintf("MODIFY COLUMN %s VARCHAR(%d) CHARACTER SET utf8 NOT NULL", name, c.chars))
		}
	}
	return changes
}

// tooLong is what to do about an upgrade that the server refused because of a
// part of a key. Nothing has changed then.
func (s *Store) tooLong(err error) error {
	if n := number(err); !s.compat() || n != erTooLong && n != erTruncated && n != erWrongValue {
		return err
	}
	var long []string
	for _, name := range s.layout.names {
		long = append(long, "LENGTH("+name+") > "+strconv.Itoa(javaPart+1))
	}
	return &Finding{"table " + s.options.Table,
		fmt.Sprintf("it has keys with a part of more than %d bytes, which an index cannot hold; no row was changed",
			javaPart+1),
		"wait until they have expired, or give them up, and run: DELETE FROM " + s.table() + " WHERE " +
			strings.Join(long, " OR ")}
}

// javaParts are the parts of a key as the original stores them, but for those
// that it could not.
func javaParts(k store.Key) store.Key {
	return store.Key{
		Application: javaPartOf(k.Application), Topic: javaPartOf(k.Topic),
		Tag: javaPartOf(k.Tag), ID: javaPartOf(k.ID),
	}
}

// javaShown is a part as callers know it, from how it is stored.
func javaShown(stored string) (part string, hashed bool) {
	if len(stored) <= javaPart {
		return stored, false
	}
	return strings.TrimRight(stored, "~"), true
}

func javaPartOf(part string) string {
	if len(part) <= javaPart {
		return part
	}
	sum := sha256.Sum256([]byte(part))
	digest := "~" + hex.EncodeToString(sum[:])
	return digest + strings.Repeat("~", javaPart+1-len(digest))
}
