// Package store has every operation on accounts, keys, bans, audit entries, idempotency
// keys, days, the usage history, recent refusals, categories, pets, orders, operators,
// sessions and notes, with all their SQL statements, once for both databases. Packages
// sqlite and postgres provide the [Database] that runs them, and a [Dialect] for the SQL
// that they write differently.
//
// Each operation that changes what the domain keeps runs in a transaction that holds the
// counter's row ([Tx]), together with its audit entry. An operation that fails changes
// nothing.
//
// It knows nothing of connections, commits, migrations and the databases' errors. If a
// database has a faster form of an operation, its package has a method of the same name,
// whose comment says why. When the database is unavailable, operations return the error of
// the Database.
package store
