package mysqlstore

import (
	"embed"
	"strconv"
	"strings"

	"github.com/rocketmq-dedup/rocketmq-dedup-go/store"
	"github.com/rocketmq-dedup/rocketmq-dedup-go/store/internal/sqlrecord"
)

// The codes of a decision, in the order of sql/upsert.sql. A decision is a code
// times 1<<codeShift plus a number. 0 means that there was no record.
const (
	codeClaimed = iota + 1 // plus the attempt
	codeBusy               // plus the milliseconds left
	codeDone
	codeParked
	codeCorrupt
	codeNotOwner
	codePark // parked by this claim
	codeBusyRearmed
	codeDoneRearmed
	codeParkedRearmed
	codeCompleted
	codeAlready
	codeLate
	codeRecreated
	codeRepaired
	codeRepeated // completed before by the same token

	codeShift = 44
)

var codeNames = [...]string{
	codeClaimed: "claimed", codeBusy: "busy", codeDone: "done", codeParked: "parked", codeCorrupt: "corrupt",
	codeNotOwner: "notOwner", codePark: "park", codeBusyRearmed: "busyRearmed", codeDoneRearmed: "doneRearmed",
	codeParkedRearmed: "parkedRearmed", codeCompleted: "completed", codeAlready: "already", codeLate: "late",
	codeRecreated: "recreated", codeRepaired: "repaired", codeRepeated: "repeated",
}

// now is the server's time in milliseconds since 1970. UTC_TIMESTAMP depends on
// no time zone, and is the same everywhere in a statement.
const now = "(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000)"

// slack is how much later than it can be, in milliseconds, an expiry must be to
// be taken for lost: longer than any statement waits for its rows.
const slack = "60000"

// zeroToken is the owner of a record that nobody owns.
const zeroToken = "X'00000000000000000000000000000000'"

// layout is how a table keeps records: the words that the templates in the
// folder sql have in braces.
type layout struct {
	table    string   // the file of the statement that makes the table
	names    []string // of the primary key's columns, and of those that repeat the key for people
	keys     int      // how many of names are the primary key
	more     string   // columns that are inserted beside the usual ones
	over     string   // how far expire_time of a claim is after its lease
	memory   string   // how far expire_time of a released claim is after its release
	leaseEnd string   // when the lease of a claim ends
	state    string   // CONSUMING, RELEASED, CONSUMED or PARKED
	absent   string   // whether the record counts as absent
	bounded  string   // whether lease_ms of a claim is known
	latest   string   // when a done record must have expired

	stages map[store.Status][]string // the values of status that a scan looks at one after another
	sweeps []string                  // conditions on status that all records meet, for the index

	decide    string // assigns the state that a decision leads to
	released  string // assigns the state of a released claim
	setParked string // assigns the state of a parked one
}

// native is the layout of a table of our own.
var native = layout{
	table:    "native",
	names:    []string{"key_hash", "application", "topic", "tag", "id"},
	keys:     1,
	over:     "horizon_ms",
	memory:   "horizon_ms",
	leaseEnd: "(expire_time - horizon_ms)",
	state:    "status",
	absent:   "expire_time <= {now}",
	bounded:  "1",
	latest:   "{now} + keep_ms",
	stages: map[store.Status][]string{
		store.StatusConsuming: {sqlrecord.Consuming},
		store.StatusLapsed:    {sqlrecord.Consuming, sqlrecord.Released},
		store.StatusConsumed:  {sqlrecord.Consumed},
		store.StatusParked:    {sqlrecord.Parked},
	},
	sweeps: []string{
		"status = 'CONSUMED'", "status = 'CONSUMING'", "status = 'RELEASED'", "status = 'PARKED'",
		"status NOT IN ('CONSUMED', 'CONSUMING', 'RELEASED', 'PARKED')",
	},
	decide: `status = CASE
	WHEN {code} = {claimed.code} THEN 'CONSUMING'
	WHEN {code} = {park.code} THEN 'PARKED'
	WHEN {code} IN ({ended.codes}) THEN 'CONSUMED'
	ELSE status END,`,
	released:  "status = 'RELEASED'",
	setParked: "status = 'PARKED'",
}

//go:embed sql/*.sql
var sources embed.FS

// texts are the statements for one table, cut where each call has its own words.
type texts struct {
	upsert, read, renew, park, fence []string
	scan, forget, stale, sweep       []string
	pulse, beat                      []string
	release                          [2][]string // by whether the callback ran
}

// render makes the statement in a file for a table. Each cut is a word that the
// caller fills in.
func (l *layout) render(file, table string, cuts ...string) []string {
	source, err := sources.ReadFile("sql/" + file + ".sql")
	if err != nil {
		panic(err) // the file is not in the program
	}
	text := l.fill(uncommented(string(source)), table)
	parts := []string{}
	for _, cut := range cuts {
		before, after, found := strings.Cut(text, cut)
		if !found {
			panic("sql/" + file + ".sql has no " + cut)
		}
		parts, text = append(parts, before), after
	}
	return append(parts, text)
}

// fill replaces the words in braces. A word of the layout may hold others.
func (l *layout) fill(text, table string) string {
	words := []string{
		"{table}", table, "{names}", strings.Join(l.names, ", "), "{more}", l.more,
		"{key}", strings.Join(l.names[:l.keys], ", "),
		"{over}", l.over, "{memory}", l.memory, "{leaseEnd}", l.leaseEnd, "{state}", l.state, "{absent}", l.absent,
		"{bounded}", l.bounded, "{latest}", l.latest,
		"{wasAbsent}", strings.ReplaceAll(l.absent, "{now}", "{this}"),
		"{wasLatest}", strings.ReplaceAll(l.latest, "{now}", "{this}"),
		"{decide}", l.decide, "{released}", l.released, "{setParked}", l.setParked,
	}
	// Words of the layout hold each other two deep at most, and then {now} and codes.
	for range 3 {
		text = strings.NewReplacer(words...).Replace(text)
	}
	words = append(codeWords(), "{slack}", slack, "{now}", now, "{this}", "VALUES(change_time)")
	return strings.NewReplacer(words...).Replace(text)
}

// codeWords are {name}, the decision of a code, and {name.code}, the code alone.
func codeWords() []string {
	words := []string{"{code}", "(decision >> " + strconv.Itoa(codeShift) + ")"}
	for code, name := range codeNames {
		if name != "" {
			words = append(words, "{"+name+"}", strconv.Itoa(code<<codeShift), "{"+name+".code}", strconv.Itoa(code))
		}
	}
	var ended []string
	for _, code := range []int{codeCompleted, codeLate, codeRecreated, codeRepaired} {
		ended = append(ended, strconv.Itoa(code))
	}
	return append(words, "{ended.codes}", strings.Join(ended, ", "))
}

// uncommented removes the comment that a file begins with, and what the server
// need not read.
func uncommented(source string) string {
	lines := strings.Split(strings.TrimSpace(source), "\n")
	for strings.HasPrefix(lines[0], "--") {
		lines = lines[1:]
	}
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, " ")
}

// texts makes the statements for a table.
func (l *layout) texts(table string) texts {
	t := texts{
		upsert: l.render("upsert", table, "{rows}"),
		read:   l.render("read", table, "{keys}"),
		renew:  l.render("renew", table, "{owned}"),
		park:   l.render("park", table, "{keep}", "{keep}", "{owned}"),
		fence:  l.render("fence", table, "{owned}"),
		scan:   l.render("scan", table, "{where}"),
		forget: l.render("forget", table, "{keys}"),
		stale:  l.render("stale", table, "{status}", "{limit}"),
		sweep:  l.render("sweep", table, "{keys}"),
		pulse:  l.render("pulse", table, "{row}"),
		beat:   l.render("beat", table, "{keys}"),
	}
	release := l.render("release", table, "{ran}", "{owned}")
	for ran := range t.release {
		t.release[ran] = []string{release[0] + strconv.Itoa(ran) + release[1], release[2]}
	}
	return t
}
