// Package demo plays one story twice, without dedup and with it, and counts the
// outcome outside the store. Use this when you write a command that shows dedup
// at work: the quickstart and "dedupctl demo" are this package and a choice of
// store. Start with [Run].
//
// The story: two consumers charge orders while a producer sends them, some twice,
// as new messages. When a quarter of the messages is done a consumer joins, at
// the half one is stopped, at three quarters one is cut off: its connections
// break, nothing that it says arrives any more, and what it was running charges
// nothing.
//
// The cut never strikes between a charge and its record. A process that dies
// just there leaves an order charged and not recorded, which the next consumer
// charges again: dedup delivers at least once there, as README.md says. With a
// ledger in a file, and records that outlive the process, the whole demo may be
// killed and started again; the ledger tells charges with a record from those
// without.
package demo
