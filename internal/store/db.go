package store

import (
	"context"
	"strings"

	"github.com/petcat-api/petcat"
)

// DB is a database: [github.com/petcat-api/petcat/internal/sqlite.DB] or
// [github.com/petcat-api/petcat/internal/postgres.DB]. A [Store] has one, and the DB does not depend on
// the Store's operations. Its methods, and those of a [Tx], return domain errors, whose text for the log
// contains the operation.
type DB interface {
	// Dialect returns what differs between the kinds of databases.
	Dialect() Dialect
	// Meta returns the identity of the data.
	Meta() Meta
	// NewestRead returns the newest revision that was read. A reader of the counter row calls it
	// before it reads, and then Reached with both revisions: the later one must not be lower.
	NewestRead() petcat.Revision
	Reached(r, before petcat.Revision)
	// Begin begins a transaction that locks the counter row. The caller must commit or roll it back, soon
	// and without waiting for anything else: other writes wait for it.
	Begin(ctx context.Context, w Work) (*Tx, error)
	// Create commits the creation of a category, a pet or an order, together with other creates.
	Create(ctx context.Context, c *Create) error
	// BeginWrite begins a transaction that does not lock the counter row. A failover to a standby
	// may lose it. It is for usage, heartbeats and sessions.
	BeginWrite(ctx context.Context, doing string) (Write, error)
	// Read runs fn, which reads a few rows. It may run fn more than once.
	Read(ctx context.Context, doing string, fn func(Querier) error) error
	// Each calls row for every row of a query, of any number, and stops at the first error.
	Each(ctx context.Context, doing string, row func(Scan) error, query string, args ...any) error
}

// Database is a DB as the program opens and closes it.
type Database interface {
	DB
	// Check returns an error if the data cannot be read or written now.
	Check(ctx context.Context) error
	// Failed is closed if writes are impossible until the program is restarted. Err then
	// returns the reason.
	Failed() <-chan struct{}
	Err() error
	// NewerSchema reports whether a newer program has migrated the data.
	NewerSchema(ctx context.Context) (bool, error)
	// Integrity returns one sentence for each damage that the database reports.
	Integrity(ctx context.Context) (findings []string, err error)
	// Backup copies all tables into an empty file, in one snapshot, during concurrent writes.
	Backup(ctx context.Context, to Copy) error
	// Alone calls fn unless another node is in Alone with the same job.
	Alone(ctx context.Context, j Job, fn func(context.Context) error) error
	Close() error
}

// Job is something that only one node does at a time.
type Job int64

// The jobs. Their numbers stay, because nodes of two versions run together.
const (
	BackupJob  Job = 1 // a scheduled backup
	WebhookJob Job = 2 // sending events to webhooks
)

// Work describes a transaction.
type Work struct {
	Doing string // for the log, if the transaction fails
	// Account made the request; 0 for an operator. The write queue uses it to keep one
	// account from filling the queue.
	Account petcat.AccountID
}

// Dialect is what differs between the databases. Their clock is unixepoch in both: package postgres
// has a function with this name.
type Dialect struct {
	// RowLocks is true if several transactions write at the same time and lock rows. SQLite has
	// one writer, and no syntax for locks.
	RowLocks bool
	// CleanRows is the maximum number of rows that one statement deletes, so that other
	// writes do not wait for long.
	CleanRows int
}

// Text returns a statement as the database runs it: without FOR UPDATE and SKIP LOCKED if it does not
// have row locks.
func (d Dialect) Text(query string) string {
	if d.RowLocks {
		return query
	}
	return strings.NewReplacer("FOR UPDATE", "", "SKIP LOCKED", "").Replace(query)
}
