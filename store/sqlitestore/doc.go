// Package sqlitestore keeps records in an SQLite database, a file. Use this when
// consumers run on one machine and no server is wanted: records survive restarts
// of the processes, which may be several, and with the default options the loss
// of power.
//
//	records, err := sqlitestore.Open(ctx, "dedup.db", sqlitestore.Options{})
//	if err != nil { … }
//	defer records.Close()
//
// Start with [Open], or with [New] for records beside the application's own
// tables. The first call creates the table. Callers that come together share a
// transaction, so that a commit, which is what costs, is one for all of them.
//
// Time is the wall clock of the machine. A clock that is set back makes leases
// and keeps longer, never beyond once more their length, counted from when a
// record is met; one that is set forward ends them early, as if so much time had
// passed.
//
// Expired records take up room until [Store.Sweep] removes them: call it now and
// then, as from a ticker. It frees pages for new records; the file itself gets
// smaller only by VACUUM.
//
// The file must be on a disk of the machine: the log of SQLite needs memory that
// the processes share, which no network file system gives.
package sqlitestore
