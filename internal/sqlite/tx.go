package sqlite

import (
	"database/sql"
	"errors"
	"time"

	"petcat"
)

// tx is the transaction of one group. It holds the database's write lock from
// its begin, so what it reads stays true until it commits.
type tx struct {
	*writer
	now      time.Time // of the whole group, in whole milliseconds
	counters counters
	before   counters // as they were read
	chain    chain
}

// counters are the last numbers given out.
type counters struct {
	revision, access petcat.Revision
	category         petcat.CategoryID
	account          petcat.AccountID
	key              petcat.KeyID
}

// chain is the end of the audit log, read when it is first needed.
type chain struct {
	known bool
	end   petcat.AuditChain
}

func begin(w *writer) (*tx, error) {
	const query = `SELECT revision, access_revision, category_id, account_id, key_id FROM counter WHERE id = 1`
	t := &tx{writer: w, now: now(w.clock)}
	if err := w.lock(); err != nil {
		return nil, err
	}
	c := &t.counters
	if err := t.get(query, nil, &c.revision, &c.access, &c.category, &c.account, &c.key); err != nil {
		return nil, err
	}
	t.before = t.counters
	return t, nil
}

// finish writes the counters down, if any moved.
func (t *tx) finish() error {
	const update = `UPDATE counter SET revision = ?, access_revision = ?, category_id = ?, account_id = ?, key_id = ? WHERE id = 1`
	if t.counters == t.before {
		return nil
	}
	c := t.counters
	return t.exec(update, int64(c.revision), int64(c.access), int64(c.category), int64(c.account), int64(c.key))
}

// revise returns the next revision.
func (t *tx) revise() petcat.Revision {
	t.counters.revision++
	return t.counters.revision
}

// reviseAccess returns the next revision, for a change of an account, a key or a
// ban.
func (t *tx) reviseAccess() petcat.Revision {
	t.counters.access = t.revise()
	return t.counters.access
}

// exec runs a statement that returns no rows.
func (t *tx) exec(query string, args ...any) error {
	stmt, err := t.prepare(query) //nolint:sqlclosecheck // closed with its connection
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(t.life, args...)
	return err
}

// get reads one row. It returns sql.ErrNoRows when there is none.
func (t *tx) get(query string, args []any, into ...any) error {
	stmt, err := t.prepare(query) //nolint:sqlclosecheck // closed with its connection
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(t.life, args...).Scan(into...)
}

// found reports whether a row was read; an error other than its absence stays.
func found(err error) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
