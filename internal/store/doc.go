// Package store has every operation on accounts, keys, bans, audit entries,
// idempotency keys, days, the usage history, recent refusals, categories, pets, orders,
// operators, sessions and notes, and every SQL statement of theirs, once: packages sqlite
// and postgres provide the [Database] that runs them, and a [Dialect] for what they write
// differently.
//
// Each operation that changes something runs in a transaction that holds the
// counter's row ([Tx]), together with its audit entry. What is refused leaves nothing
// behind, wherever in the operation that happens.
//
// It knows nothing of connections, commits, migrations and the databases' errors.
// Where a database has a faster way to do what an operation does, its package has a
// method of the same name, which says why. When the database is unavailable,
// operations return the error of the Database.
package store
