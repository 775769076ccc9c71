// Package postgres stores everything in a PostgreSQL database that several nodes
// share: it provides connections, commits and migrations, and package store the
// operations. Creates and leases of days have statements of their own here, to save
// round trips.
//
// Each node commits the queued categories as one group, in one statement and one
// round trip (writer.go, commit.go). The statement takes the next revisions from a
// counter row, which stays locked until the commit, so that on all nodes together
// revisions, ids and commits are in one order, and "everything after revision R" can
// skip nothing. Other changes take the same row in a transaction of their own; so
// the audit entries are one chain.
//
// It keeps no state in a session, so that a pooler may give each transaction
// another connection: what a transaction needs it sets for itself.
//
// It refuses, with an [openerror.Error] that says what to do, a database of another
// environment, a newer schema, a standby, a server that does not sync its commits to
// the disk, and unsupported versions.
//
// When the database is unavailable, everything fails with service_unavailable,
// within seconds at first and then immediately, and recovers by itself (breaker.go).
// The outcome of a write whose connection broke is unknown; it is never repeated
// here, and its error says that the caller may retry it with the same
// Idempotency-Key.
package postgres
