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
	Revision, Access petcat.Revision // Access: of the last change of an account, a key or a ban
	Category         petcat.CategoryID
	Account          petcat.AccountID
	Key              petcat.KeyID
	Pet              petcat.PetID
	Order            petcat.OrderID
	Token            petcat.OperatorTokenID
	PlanRequest      petcat.PlanRequestID
}

// SelectSequences reads the [Sequences]. Package postgres adds FOR UPDATE to it.
const SelectSequences = `SELECT revision, access_revision, category_id, account_id, key_id, pet_id, order_id, token_id, plan_request_id FROM counter WHERE id = 1`

// Into returns where the columns of [SelectSequences] go.
func (n *Sequences) Into() []any {
	return []any{
		(*int64)(&n.Revision), (*int64)(&n.Access), (*int64)(&n.Category), (*int64)(&n.Account), (*int64)(&n.Key),
		(*int64)(&n.Pet), (*int64)(&n.Order), (*int64)(&n.Token), (*int64)(&n.PlanRequest),
	}
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
	const update = `UPDATE counter SET revision = ?, access_revision = ?, category_id = ?, account_id = ?, key_id = ?, pet_id = ?, order_id = ?,
		token_id = ?, plan_request_id = ? WHERE id = 1`
	if t.sequences == t.before {
		return nil
	}
	n := t.sequences
	row := []any{int64(n.Revision), int64(n.Access), int64(n.Category), int64(n.Account), int64(n.Key), int64(n.Pet), int64(n.Order),
		int64(n.Token), int64(n.PlanRequest)}
	return t.ExecEach(update, [][]any{row}) // with the commit
}

// revise assigns the next revision.
func (t *Tx) revise() petcat.Revision {
	t.sequences.Revision++
	return t.sequences.Revision
}

// reviseAccess assigns the next revision for a change of an account, a key or a ban.
func (t *Tx) reviseAccess() int64 {
	t.sequences.Access = t.revise()
	return int64(t.sequences.Access)
}

// exec runs a statement, however many rows it changes.
func (t *Tx) exec(query string, args ...any) error {
	_, err := t.Exec(query, args...)
	return err
}
