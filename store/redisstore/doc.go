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
// A single server, a Sentinel fail-over client and a cluster client are fine; a
// ring is refused, and so is a cluster client that reads from replicas. Then
// [Store.Check] tests the server itself, [Store.Inspect] adds advice.
//
// # Promises
//
// Every method is one Lua script on one key, so it is atomic, and it costs one
// round trip. Durations are the server's own: no time of a client is ever sent
// or compared. Every record has an expiry. A claim whose reply was lost is
// repeated and recognised by its token. Complete, Release and Park succeed even
// when the server is out of memory; a claim then fails. Errors never contain a
// password.
//
// Redis 6.2 keeps all this but one: without memory it refuses to complete,
// too. It also lets scripts write with fewer replicas than min-replicas-to-write.
//
// A context's deadline is kept. Its cancellation is noticed between two steps,
// at the latest after ReadTimeout.
//
// # What it does not promise
//
// Redis replicates after it has answered. A fail-over may lose the latest
// records, a crash without appendonly too, and a server that evicts may lose
// any. Keys whose records were lost run again: Complete answers Recreated when
// it comes across one. Nothing here detects a server clock that is set.
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
// A claim in flight has lapsed when at most its horizon is left. The scripts in
// the folder lua are the only code that reads or writes values.
//
// # Rights
//
// This is all that a user of its own needs, for the default prefix:
//
//	ACL SETUSER dedup on >password ~dedup:* resetchannels -@all +eval +evalsha +get +set +pttl +pexpire +time +info
//
// A cluster client also needs +cluster|slots, and +command, which go-redis
// otherwise asks for again and again.
package redisstore
