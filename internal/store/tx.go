package store

import (
	"time"

	"petcat"
)

// Tx is a transaction of a write. It locks the counter's row when it begins, so that no
// other Tx changes what it has read before it commits. Several operations may run in one
// Tx, one after the other.
type Tx struct {
	Conn
	now     time.Time // the time of all its operations, in whole milliseconds
	numbers Numbers
	before  Numbers // numbers when the transaction began
	chain   chain
	changed []petcat.RevisedCategory // by revision ascending
}

// Numbers are the last revisions and ids that were assigned: the row of the table counter.
type Numbers struct {
	Revision, Access petcat.Revision // Access: of the last change of an account, a key or a ban
	Category         petcat.CategoryID
	Account          petcat.AccountID
	Key              petcat.KeyID
	Pet              petcat.PetID
	Order            petcat.OrderID
}

// SelectNumbers reads the [Numbers]. Package postgres adds FOR UPDATE to it.
const SelectNumbers = `SELECT revision, access_revision, category_id, account_id, key_id, pet_id, order_id FROM counter WHERE id = 1`

// Into returns where the columns of [SelectNumbers] go.
func (n *Numbers) Into() []any {
	return []any{
		(*int64)(&n.Revision), (*int64)(&n.Access), (*int64)(&n.Category), (*int64)(&n.Account), (*int64)(&n.Key),
		(*int64)(&n.Pet), (*int64)(&n.Order),
	}
}

// NewTx returns a Tx on a transaction that has begun, with the numbers that
// [SelectNumbers] read in it.
func NewTx(c Conn, now time.Time, n Numbers) *Tx {
	return &Tx{Conn: c, now: now, numbers: n, before: n}
}

// State is what a Tx keeps in memory between operations.
type State struct {
	numbers Numbers
	chain   chain
	changed int
}

// State returns the current state, for SetState after an operation is rolled back.
func (t *Tx) State() State { return State{t.numbers, t.chain, len(t.changed)} }

// SetState restores a state of the same transaction.
func (t *Tx) SetState(s State) {
	t.numbers, t.chain, t.changed = s.numbers, s.chain, t.changed[:s.changed]
}

// ChangedCategories returns the categories that were created, changed or deleted in the
// transaction, by revision ascending.
func (t *Tx) ChangedCategories() []petcat.RevisedCategory { return t.changed }

// Finish saves the numbers if any was assigned. Call it right before the commit.
func (t *Tx) Finish() error {
	const update = `UPDATE counter SET revision = ?, access_revision = ?, category_id = ?, account_id = ?, key_id = ?, pet_id = ?, order_id = ? WHERE id = 1`
	if t.numbers == t.before {
		return nil
	}
	n := t.numbers
	return t.exec(update, int64(n.Revision), int64(n.Access), int64(n.Category), int64(n.Account), int64(n.Key), int64(n.Pet), int64(n.Order))
}

// revise assigns the next revision.
func (t *Tx) revise() petcat.Revision {
	t.numbers.Revision++
	return t.numbers.Revision
}

// reviseAccess assigns the next revision for a change of an account, a key or a ban.
func (t *Tx) reviseAccess() petcat.Revision {
	t.numbers.Access = t.revise()
	return t.numbers.Access
}

// exec runs a statement, however many rows it changes.
func (t *Tx) exec(query string, args ...any) error {
	_, err := t.Exec(query, args...)
	return err
}
