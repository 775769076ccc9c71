package store

import (
	"time"

	"petcat"
)

// Tx is a transaction of a write. It locks the counter's row when it begins, so that no
// other Tx changes what it has read before it commits. Several operations may run in one
// Tx, one after the other; a copy of it that was made before an operation is its state once
// that operation is rolled back.
type Tx struct {
	Conn
	now       time.Time // the time of all its operations, in whole milliseconds
	sequences Sequences
	before    Sequences         // sequences when the transaction began
	audit     *petcat.AuditHead // of the log; nil until it is needed
	changed   []petcat.RevisedCategory
}

// Sequences are the last revisions and ids that were assigned: the row of the table counter.
// They are not SQL sequences.
type Sequences struct {
	Revision int64
	Access   int64 // the revision of the last change of an account, a key or a ban

	Category, Account, Key, Pet, Order, Token, PlanRequest int64 // ids
}

const (
	sequenceColumns = `revision, access_revision, category_id, account_id, key_id, pet_id, order_id, token_id, plan_request_id`
	// SelectSequences reads the [Sequences]. Package postgres adds FOR UPDATE to it.
	SelectSequences = `SELECT ` + sequenceColumns + ` FROM counter WHERE id = 1`
)

// Into returns where the columns of [SelectSequences] go.
func (n *Sequences) Into() []any {
	return []any{&n.Revision, &n.Access, &n.Category, &n.Account, &n.Key, &n.Pet, &n.Order, &n.Token, &n.PlanRequest}
}

// NewTx returns a Tx on a transaction that has begun, with the sequences that
// [SelectSequences] read in it.
func NewTx(c Conn, now time.Time, n Sequences) *Tx {
	return &Tx{Conn: c, now: now, sequences: n, before: n}
}

// ChangedCategories returns the categories that were created, changed or deleted in the
// transaction, by revision ascending.
func (t *Tx) ChangedCategories() []petcat.RevisedCategory { return t.changed }

// Finish saves the sequences if any has advanced. Call it right before the commit.
func (t *Tx) Finish() error {
	const update = `UPDATE counter SET (` + sequenceColumns + `) = (?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = 1`
	if t.sequences == t.before {
		return nil
	}
	return t.ExecEach(update, [][]any{t.sequences.Into()}) // with the commit
}

// revise assigns the next revision.
func (t *Tx) revise() petcat.Revision {
	t.sequences.Revision++
	return petcat.Revision(t.sequences.Revision)
}

// reviseAccess assigns the next revision for a change of an account, a key or a ban.
func (t *Tx) reviseAccess() int64 {
	t.sequences.Access = int64(t.revise())
	return t.sequences.Access
}

// exec runs a statement, however many rows it changes.
func (t *Tx) exec(query string, args ...any) error {
	_, err := t.Exec(query, args...)
	return err
}
