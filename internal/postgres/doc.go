// Package postgres stores everything in a PostgreSQL database that several nodes
// share: it provides connections, commits and migrations, and package store the
// operations. Charges have a statement of their own here, which is one round trip.
//
// Each node commits the queued categories as one group, in one transaction (engine.go).
// Every transaction that takes a revision locks the counter's row first and keeps it until
// the commit, so that on all nodes together revisions, ids and commits are in one order, and
// "everything after revision R" can skip nothing; what it reads of idempotency keys is
// complete, and the audit entries are one chain.
//
// It keeps no state in a session, so that a pooler may give each transaction
// another connection: what a transaction needs it sets for itself.
//
// It refuses, with an [openerror.Error] that says what to do, a database of another
// environment, a newer schema, a standby, a server that does not sync its commits to
// the disk, settings that it cannot work with, and unsupported versions. What each SQLSTATE
// means is in failure.go.
//
// When the database is unavailable, everything fails with service_unavailable,
// within seconds at first and then immediately, and recovers by itself.
// The outcome of a write whose connection broke is unknown; it is never repeated
// here, and its error says that the caller may retry it with the same
// Idempotency-Key.
package postgres
