package store

import (
	"time"

	"petcat"
)

// Tx is a write transaction. It locks the counter row when it begins, so no other Tx changes
// data that it has read before it commits. Several operations may run in one Tx, in sequence. To
// roll one back, restore a copy of the Tx that was made before the operation.
type Tx struct {
	Conn
	now       time.Time // of all operations, in whole milliseconds
	sequences Sequences
	before    Sequences         // when the transaction began
	audit     *petcat.AuditHead // nil until it is needed
	changed   []petcat.RevisedCategory
}

// Sequences is the counter row: the revisions and ids that were assigned last. They are not SQL
// sequences.
type Sequences struct {
	Revision int64
	Access   int64 // the revision of the last change of an account, key or ban

	Category, Account, Key, Pet, Order, Token, PlanRequest int64 // ids
}

const (
	sequenceColumns = `revision, access_revision, category_id, account_id, key_id, pet_id, order_id, token_id, plan_request_id`
	// SelectSequences reads the [Sequences]. Package postgres adds FOR UPDATE to it.
	SelectSequences = `SELECT ` + sequenceColumns + ` FROM counter WHERE id = 1`
)

// Into returns the destinations of the columns of [SelectSequences].
func (n *Sequences) Into() []any {
	return []any{&n.Revision, &n.Access, &n.Category, &n.Account, &n.Key, &n.Pet, &n.Order, &n.Token, &n.PlanRequest}
}

// NewTx returns a Tx for a transaction that has begun, with the sequences that
// [SelectSequences] read in it.
func NewTx(c Conn, now time.Time, n Sequences) *Tx {
	return &Tx{Conn: c, now: now, sequences: n, before: n}
}

// ChangedCategories returns the categories that the transaction created, changed or deleted, by
// revision ascending.
func (t *Tx) ChangedCategories() []petcat.RevisedCategory { return t.changed }

// Finish saves the sequences if any has advanced. Call it directly before the commit.
func (t *Tx) Finish() error {
	const update = `UPDATE counter SET (` + sequenceColumns + `) = (?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = 1`
	if t.sequences == t.before {
		return nil
	}
	return t.ExecEach(update, [][]any{t.sequences.Into()}) // sent with the commit
}

// revise returns the next revision.
func (t *Tx) revise() petcat.Revision {
	t.sequences.Revision++
	return petcat.Revision(t.sequences.Revision)
}

// reviseAccess returns the next revision, for a change of an account, key or ban.
func (t *Tx) reviseAccess() int64 {
	t.sequences.Access = int64(t.revise())
	return t.sequences.Access
}

// exec is Exec without the number of changed rows.
func (t *Tx) exec(query string, args ...any) error {
	_, err := t.Exec(query, args...)
	return err
}
