// Package postgres keeps everything in a PostgreSQL database that several nodes
// share: the same as package sqlite, in files of the same names.
//
// Each node commits the categories that wait as one group, in one statement and
// one round trip (writer.go, commit.go). The statement takes the next revisions
// from a counter row, which stays locked until the commit, so that on all nodes
// together revisions, ids and commits are in one order, and "everything after
// revision R" can skip nothing. Other changes take the same row in a transaction
// of their own; so the audit entries are one chain.
//
// It keeps no state in a session, so that a pooler may give each transaction
// another connection: what a transaction needs it sets for itself.
//
// It refuses, with an [OpenError] that says what to do, a database of another
// environment, a newer schema, a standby, a server that does not sync its commits
// to the disk, and versions that it was not made for.
//
// When the database is away, everything fails within seconds with
// service_unavailable, at once after the first such failure, and works again
// by itself when it is back (breaker.go). A write whose connection broke may have
// happened or not; it is never repeated here, and its error says that the
// caller may, with the same Idempotency-Key.
package postgres
