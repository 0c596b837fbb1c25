// Package mysqlstore keeps the records of package store in a table of MySQL 5.6
// or later, of MariaDB 10.4 or later, or of a server that runs their SQL. Use
// this when consumers on several machines share their records, a database is at
// hand, and no record may be lost with a failing cache.
//
// Start with [New], over a pool of the driver github.com/go-sql-driver/mysql that
// stays yours and is used for nothing else:
//
//	db, err := sql.Open("mysql", "dedup:password@tcp(127.0.0.1:3306)/orders"+
//		"?innodb_lock_wait_timeout=1&timeout=5s&readTimeout=10s&writeTimeout=5s")
//	db.SetMaxOpenConns(16)
//	db.SetMaxIdleConns(16) // the default of 2 would open and close connections all the time
//	records, err := mysqlstore.New(db, mysqlstore.Options{})
//	err = records.Migrate(ctx) // makes the table; or run records.Schema() with your own tool
//	err = records.Check(ctx)   // tests the server and the table
//
// A pool with fewer than four connections is a bottleneck; a callback that holds
// the last connection of the pool would wait for itself. Without timeouts in the DSN
// a statement of yours in a transaction waits for an answer that is lost until its
// context ends; let readTimeout be longer than your longest statement. What else is
// in the DSN does not matter: statements carry their values as numbers and hex digits, and
// times are the server's, in UTC.
//
// MySQL 5.6.24 and MariaDB 10.11 are tested. The SQL is what these and MySQL 8
// have in common, but nothing has been run on MySQL 8: [Store.Check] takes scratch
// records through every statement and reports a server that answers otherwise.
//
// # Promises
//
// Every step is one statement on one row, found by its primary key, so it is
// atomic under every isolation level. A claim is one INSERT … ON DUPLICATE KEY
// UPDATE, which takes over a lapsed record in the same step, and whose verdict
// comes back as the last insert id; affected rows, which depend on options of the
// driver, are never looked at. A claim that is refused writes nothing.
//
// Durations are the server's own: no time of a client is ever sent or compared.
// A claim whose reply was lost is repeated and recognised by its token. A
// deadlock is a normal answer of these servers: the statement is repeated. A row
// that somebody else keeps locked, such as a transaction of yours, makes a claim
// Busy after innodb_lock_wait_timeout, which MySQL 5.6 looks at once a second, and
// in a batch after twice that time. A guard that gives up before takes the lock for
// an outage: if you have such transactions, set its CallTimeout and ClaimTimeout to
// 5 s. Under REPEATABLE READ a claim that waits so holds up the one new key, too,
// whose hash would come right before; READ COMMITTED spares that. Errors never
// contain a key or a password.
//
// # Calls that travel together
//
// A commit takes about as long for many rows as for one. A call that finds
// nothing on its way to the server goes at once, by itself. Calls that come while
// others are on their way gather, and go together in one statement with many
// rows and one look at what became of them, when those are back or when they are
// many. What takes longer than 50 ms, because somebody keeps a row locked, holds
// nobody up any more. A statement that fails because of one of its rows is tried
// in parts, so that the others do not suffer.
//
// A context's deadline is kept, and a call that has not been sent by then never
// is. What its owner asks for next waits until a claim that was left behind is
// back. If the connection was given up while the server worked, and the claim is
// granted after all, it costs its key one lease.
//
// # What it does not promise
//
// A server that does not flush its log at every commit, or a fail-over to a
// replica that lags behind, loses the latest records: their keys run again, and
// Complete answers Recreated when it comes across one, and the Watch of a guard
// tells, by [Store.Pulse]. Set innodb_flush_log_at_trx_commit = 1.
//
// # Records
//
// sql/native.sql is the table, [Store.Schema] prints it. Rows that have expired
// count as absent; they stay until the key comes back or [Store.Sweep] removes
// them. Package sweep has the loop for that.
//
// # Rights
//
// A user needs SELECT, INSERT, UPDATE and DELETE on the table, and CREATE, ALTER
// and INDEX while it is migrated.
//
// # Beside the Java original
//
// A Store made by [NewJavaCompatible] shares its table with consumers that use
// RocketMQDedupListener for Java with its MySQL store. Both may take messages of
// one topic, for the time of a migration or for good: what one has done, the
// other skips. They must agree about the application, which the original is given
// as a name, and about the key: the original's default is MessageID of package
// listener, not DefaultKey.
//
// [Store.Migrate] upgrades the original's table in place: the columns of the key
// become VARBINARY, because the original's collation takes A for a, and columns
// of ours with defaults are added, which its statements never name. The
// original's consumers may go on meanwhile, as far as the server lets them.
//
// Between consumers of ours the contract holds. The original judges and writes
// by the clock of its own machine: [Options].Skew is how far that may be from the
// server's. What else it does is beyond our reach:
//
//   - It deletes and overwrites rows whoever owns them (sentences 5 and 6 of the
//     contract).
//   - It runs a message whose row has another status than its two words, and one
//     whose INSERT fails for any reason but a duplicate key.
//   - Of several of its consumers that meet an expired row more than one may win:
//     it takes a deadlock of its INSERT for success.
//   - Its own success on a key that we run ends our claim; our Complete answers
//     Completed then, as if nothing had happened.
//   - A part of a key over 765 bytes is hashed by us only, so that such keys do not
//     meet.
//
// # Several databases
//
// A [Sharded] of [NewSharded] is one Store over several, for business data that is
// spread over databases, or for more writes than one server takes.
package mysqlstore
