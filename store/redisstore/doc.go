// Package redisstore keeps the records of package store in Redis 6.2 or later,
// or in a server that speaks and scripts like it. Use this when consumers on
// several machines share their records and a Redis with appendonly is at hand.
//
// Start with [New], over a client that stays yours:
//
//	client := redis.NewClient(&redis.Options{
//		Addr:                  "127.0.0.1:6379",
//		ContextTimeoutEnabled: true,        // required: calls end with their context's deadline
//		ReadTimeout:           time.Second, // required: × (MaxRetries + 1) below a third of the lease
//	})
//	records, err := redisstore.New(client, redisstore.Options{})
//
// Set DialerRetries to 1, too, to read "connection refused" in an error instead
// of "deadline exceeded", and Protocol to 2: with RESP3 go-redis looks before
// every reply for messages that this package has no use for, which takes it a
// tenth of the time of a call.
//
// A single server, a Sentinel fail-over client and a cluster client are fine; a
// ring is refused, and so is a cluster client that reads from replicas. Then
// [Store.Check] tests the server itself, [Store.Inspect] adds advice.
//
// # Promises
//
// Every step is one command on one key, so it is atomic, and nearly always one
// round trip. A claim on a free or done key and every complete are plain SETs;
// what these leave open, and everything else, is a Lua script. A server that
// does not take SET with NX and GET, such as Redis 6.2, gets scripts only: the
// first claim or Check finds out. Stores of both kinds share their records.
//
// Durations are the server's own: no time of a client is ever sent or compared.
// Every record has an expiry. A claim whose reply was lost is repeated and
// recognised by its token. Complete, Release and Park succeed even when the
// server is out of memory; a claim then fails. Errors never contain a password.
//
// Redis 6.2 keeps all this but one: without memory it refuses to complete,
// too. It also lets scripts write with fewer replicas than min-replicas-to-write.
//
// # Calls that travel together
//
// A call that finds nothing on its way to the server goes at once, by itself.
// Calls that come while another is on its way gather, and go together, in one
// pipeline, when that is back or when they are many: many callers at once cost a
// fraction of many round trips. What takes longer than 20 ms holds nobody up any
// more, and each master of a cluster has a line of its own.
// [Options].NoPipelining turns this off.
//
// A context's deadline is kept, and a call that has not been sent by then never
// is. The cancellation of one that waits for others is noticed at once; that of
// one which goes by itself at the latest after ReadTimeout.
//
// A claim whose caller has gone while it was on its way may still be granted.
// What its owner asks for next, to claim again or to release, waits for it. A
// release whose own deadline does not allow that is remembered and sent when
// the claim is back. If the claim was lost on the way and arrives after all,
// from a connection that was given up, it costs its key one lease.
//
// A Store has goroutines only while such calls or releases are on their way: at
// most until the latest deadline of their callers, ReadTimeout, and a third of
// MinLease. It needs no closing; [Store.Wait] tells when it is at rest.
//
// # What it does not promise
//
// Redis replicates after it has answered. A fail-over may lose the latest
// records, a crash without appendonly too, and a server that evicts may lose
// any. Keys whose records were lost run again: Complete answers Recreated when
// it comes across one, and [Store.Pulse] finds out, as it does of a server clock
// that is set.
//
// A complete that meets a longer keep puts it back in a second step. If the
// process ends between the two, the key is done for the shorter keep.
//
// A done record that has lost its expiry is answered as done and left as it is:
// a claim does not look. The next complete gives it one.
//
// # Records
//
// The name of a record is Options.Prefix, then [store.Key.String] in braces,
// which make it a hash tag. Its value is one of these; token is 32 hex digits,
// durations are milliseconds, fence 0 means that none was drawn:
//
//	P|token|attempt|lease|horizon|fence   in flight   expires after lease + horizon
//	R|token|attempt|horizon|fence         released    expires after horizon
//	D|token|keep                          done        expires after keep
//	X|token|attempt|keep                  parked      expires after keep
//
// [Store.Pulse] has names of its own, Options.Prefix{…}application:node for an
// hour and Options.Prefix{…}application:doubt for 31 days. What is between the
// braces, pulse or a number that has a slot of the master, has no colon.
//
// A claim in flight has lapsed when at most its horizon is left. The scripts in
// the folder lua read and write values; beside them only the fast path does.
//
// # Scans
//
// Redis has no list of records, so a scan reads the names of the whole database,
// with SCAN in steps of at most 1024 buckets, and then the records among them. A
// page takes at most 16 steps, so it may be short, or empty. A scan over a million
// foreign names took 1.5 s, 0.9 s of the server's time. Give records a database,
// or better a server, of their own, or scan seldom.
//
// A cluster is read slot by slot, each in one short script on the master that has
// it by then: 16384 of them for a scan, which took 0.1 s without records. A slot
// with more than 100,000 names, as a hash tag that others use for everything
// makes it, would hold its server up and is refused: the scan ends there with a
// Permanent error.
//
// Nothing is missed, however servers restart, take over and hand slots to each
// other between the pages, but for records that they lose; a single server must
// tell its run_id for that. On a cluster nothing
// is shown twice either. Elsewhere SCAN names again some of what it has named when
// the server's table shrinks, and everything when the server is another one than
// before. So a Store remembers what pages have shown: of its latest 8 scans, for
// the latest 131,072 records of each at least. What is older, and what another
// process has shown that a scan was begun in, may be shown again.
//
// Records that are shared with the Java original cannot be listed.
//
// # Rights
//
// This is all that a user of its own needs, for the default prefix:
//
//	ACL SETUSER dedup on >password ~dedup:* resetchannels -@all +eval +evalsha +get +set +pttl +pexpire +time +info
//
// A cluster client also needs +cluster|slots, and +command, which go-redis
// otherwise asks for again and again. Forget also needs +del, Scan +scan or, of a cluster,
// +cluster|getkeysinslot.
//
// # Beside the Java original
//
// A Store made by [NewJavaCompatible] shares its records with consumers that use
// RocketMQDedupListener for Java with its Redis store. Both may take messages of
// one topic, for the time of a migration or for good: what one has done, the
// other skips. They must agree about the application, which the original is
// given as a name, and about the key: the original's default is MessageID of
// package listener, not DefaultKey. The original must run with UTF-8 as its
// default charset and with the string serialisers it comes with.
//
// A record is two keys. The main key is all that the original knows. Its name is
//
//	MSGDEDUP:<application>:<topic>:<tag>:<id>
//	MSGDEDUP:<application>:<topic>:<id>        without a tag
//
// with nothing escaped, hashed or cut; only keys that are UTF-8 are the same
// there. Its value is CONSUMING, for the lease or for as long as the key is
// parked, or CONSUMED, for keep, rounded up to whole seconds. Its companion holds what the original has no place for: a value as
// above. It is in the main key's slot of a cluster, and is called
//
//	{<main>}:o            when no } is in the main key's name
//	{<tag>}:o:<main>      when that has a hash tag of its own
//	{<number>}:o:<main>   otherwise; the number is the smallest that has the slot
//
// The companion of a done record ends after ten minutes at the latest. To have a
// key run once more, call Forget or delete both.
//
// Records are read and forgotten one by one, by their keys. They cannot be
// listed, because a name does not tell where a tag ends and an id begins: Scan
// returns a Permanent error that wraps [errors.ErrUnsupported], so every pass of
// package reconcile over them fails.
//
// The names of pulses begin with dedup-pulse: instead of the prefix.
// While a cluster moves their slot, calls on new records, and on those of which
// one key has moved, are refused; repeat them.
//
// Between consumers of ours the contract of package store holds, but for names:
// those of the original escape nothing. The tag a with the id b:c, and no tag
// with the id a:b:c, are one record to it and so to us (sentences 8 and 10).
//
// A claim of the original is Busy until it expires, and no step of ours but a
// complete touches it. What else it does is beyond our reach:
//
//   - It deletes and overwrites records whoever owns them (sentences 5 and 6).
//     When it deletes a claim of ours, our consumers stay away from the key, and
//     so do its own from our next renewal on. When it deletes what we have done,
//     our consumers know that for ten minutes more. When it completes what we
//     have done, its retention counts, even if it is the shorter.
//   - Its claim is two commands. If the record ends between them, it runs the
//     message without a claim (sentence 1).
//   - It leaves no trace of a failure or a crash. Attempts are those of our
//     consumers, and no Verifier is asked before a claim that follows its crash.
//   - It has no parked records: it sends their messages back until the broker
//     buries them. And it runs a message whose record has any other value, which
//     is Corrupt to us.
//   - It tells no durations (sentence 7). A record of its making that has lost its
//     expiry is given the original's default, a minute or a day.
//
// Its claims are told from ours by when they expire. With a lease shorter than
// its claims, as 30 seconds are than its default of a minute, they always differ.
// With a longer lease, a claim that it makes after it has deleted ours passes for
// ours if both end within 10 ms.
//
// Another set of rights is needed:
//
//	ACL SETUSER dedup on >password ~MSGDEDUP:* ~{*}:o ~{*}:o:MSGDEDUP:* ~dedup-pulse:* resetchannels \
//	-@all +eval +evalsha +get +set +del +pttl +pexpireat +time +info
package redisstore
