// Package orm shows handlers that have sqlx, GORM or plain database/sql write through
// the transaction that the record of their message is part of. Use this when your
// code has one of them and you want effects that happen exactly once: copy [SQLX] or
// [GORM], they are all that is special about it. It is a module of its own, so that
// the library needs neither.
//
// What holds for every library:
//
//   - It must write through the transaction and begin none of its own. Savepoints are
//     no harm; commits and rollbacks are, so never call the Commit and Rollback that
//     the transaction brings along, and make no tables in it: MySQL commits first.
//   - Its errors must be returned. After a deadlock or a lock wait timeout nothing is
//     committed, and the message comes again. Make the pool over a
//     mysqlstore.Connector, which sees to that if a handler goes on.
//   - A table with a unique index of its own may have the effect already, by another
//     way than a message. dedup.AlreadyDone says so: the message is completed.
package orm
