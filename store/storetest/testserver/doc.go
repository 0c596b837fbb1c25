// Package testserver gives tests servers that they may break. Use this when a
// test kills, pauses, fills or misconfigures a server, or loses its replies;
// for a server that only has to be there, use storetest.Server.
//
// [Redis] starts a private redis-server, [Cluster] a Redis Cluster, [Sentinel] a
// master with a replica under sentinels, [MariaDB] and [MySQL] an SQL server.
// [NewProxy] stands between a client and any TCP server, Redis, MySQL or a
// RocketMQ broker alike, and loses, delays or cuts what passes. [NewCA] issues
// the certificates of a TLS server, right and wrong ones. Everything listens on
// the loopback address only and ends with the test. Where a server is missing, or
// DEDUP_TEST_SERVERS is "none", tests that start one are skipped, or fail with
// DEDUP_TEST_STRICT=1.
//
// It does not simulate a machine that loses power: a killed server keeps what
// it has handed to the operating system.
package testserver
