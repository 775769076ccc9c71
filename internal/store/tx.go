package store

import (
	"time"

	"petcat"
)

// Tx is a transaction that changes something. It holds the counter's row from its
// begin, so what it reads stays true until it commits. Several operations may run in
// it, one after the other.
type Tx struct {
	Conn
	now     time.Time // of all operations in it, in whole milliseconds
	numbers Numbers
	before  Numbers // as they were read
	chain   chain
	changed []petcat.RevisedCategory // by revision ascending
}

// Numbers are the last ones given out: the row of the table counter.
type Numbers struct {
	Revision, Access petcat.Revision // Access: of the last change of an account, a key or a ban
	Category         petcat.CategoryID
	Account          petcat.AccountID
	Key              petcat.KeyID
	Pet              petcat.PetID
	Order            petcat.OrderID
}

// SelectNumbers reads them. PostgreSQL locks the row with it.
const SelectNumbers = `SELECT revision, access_revision, category_id, account_id, key_id, pet_id, order_id FROM counter WHERE id = 1`

// Into returns where the columns of [SelectNumbers] go.
func (n *Numbers) Into() []any {
	return []any{
		(*int64)(&n.Revision), (*int64)(&n.Access), (*int64)(&n.Category), (*int64)(&n.Account), (*int64)(&n.Key),
		(*int64)(&n.Pet), (*int64)(&n.Order),
	}
}

// NewTx returns a transaction that has begun, with what [SelectNumbers] read in it.
func NewTx(c Conn, now time.Time, n Numbers) *Tx {
	return &Tx{Conn: c, now: now, numbers: n, before: n}
}

// State is what a transaction remembers between operations.
type State struct {
	numbers Numbers
	chain   chain
	changed int
}

// State returns the state, to be put back when an operation is undone.
func (t *Tx) State() State { return State{t.numbers, t.chain, len(t.changed)} }

// SetState puts a state back.
func (t *Tx) SetState(s State) {
	t.numbers, t.chain, t.changed = s.numbers, s.chain, t.changed[:s.changed]
}

// ChangedCategories returns the categories that were created, changed or deleted in the
// transaction, by revision ascending.
func (t *Tx) ChangedCategories() []petcat.RevisedCategory { return t.changed }

// Finish writes the numbers down, if any was given out. It comes right before the
// commit.
func (t *Tx) Finish() error {
	const update = `UPDATE counter SET revision = ?, access_revision = ?, category_id = ?, account_id = ?, key_id = ?, pet_id = ?, order_id = ? WHERE id = 1`
	if t.numbers == t.before {
		return nil
	}
	n := t.numbers
	return t.exec(update, int64(n.Revision), int64(n.Access), int64(n.Category), int64(n.Account), int64(n.Key), int64(n.Pet), int64(n.Order))
}

// revise returns the next revision.
func (t *Tx) revise() petcat.Revision {
	t.numbers.Revision++
	return t.numbers.Revision
}

// reviseAccess returns the next revision, for a change of an account, a key or a
// ban.
func (t *Tx) reviseAccess() petcat.Revision {
	t.numbers.Access = t.revise()
	return t.numbers.Access
}

// exec runs a statement, however many rows it changes.
func (t *Tx) exec(query string, args ...any) error {
	_, err := t.Exec(query, args...)
	return err
}
