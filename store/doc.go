// Package store is the contract between the deduplication engine and the
// records it keeps. Use this when you write a store of your own or call one
// directly; consumers normally meet it only as the argument of a constructor.
//
// Start with [Store]: three methods move one record per [Key] through its life.
//
//	absent ──claim──▶ CONSUMING ──complete──▶ CONSUMED (until keep ends)
//	                   │     ▲
//	      lease over,  │     │ claim: attempt + 1
//	      or released  ▼     │
//	                  LAPSED ┘ ──attempts used up──▶ PARKED
//
// A lapsed record is remembered for its horizon, so that attempts are counted.
// A record lapsed for longer than that, or done for longer than its keep,
// counts as absent whether or not the store has removed it.
//
// # Contract
//
// A store promises the following. Every sentence is a case of the public suite
// in package storetest, and every case is proved by a store that breaks it.
//
//  1. Of any number of concurrent claims on a free or lapsed key exactly one is
//     Claimed. Take-over is that same atomic step, never read-then-write.
//  2. The caller chooses the token. Repeating any call with the same token is
//     safe until it is released; a late copy of a claim whose token was
//     released is refused with [ErrNotOwner].
//  3. Busy tells the remaining lease by the store's own clock. Clocks of two
//     machines are never compared.
//  4. Done is answered until keep ends. Copies never move an expiry. A second
//     complete never leaves less than the longer keep.
//  5. Release, renew and park act only for the token that owns the key now.
//  6. After complete nobody is Claimed until keep ends, whatever a stale owner
//     does.
//  7. Lease and horizon belong to the record: the claim that wrote it chose
//     them and every judge uses the stored ones. No record lives without an
//     expiry; one that lost it is given one when met, and answered with
//     Rearmed set. Zero, negative and sub-millisecond durations are refused.
//  8. Keys are compared byte for byte. Distinct keys never share a record.
//     Over-long parts are hashed, never cut.
//  9. An error or a missed deadline is never Claimed and never Done, and the
//     call returns within its deadline. Errors carry a [Class].
//  10. Two applications never see each other's records.
//
// What a store does not promise: that a record survives the loss of the
// server's data, or that two callbacks never overlap when one of them outlives
// its lease.
package store
