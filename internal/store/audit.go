package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"petcat"
)

// entry is the content of an audit entry.
type entry struct {
	by      petcat.Actor
	action  string
	subject string
	detail  detail
}

// detail has further fields of an audit entry. It must not contain a secret.
type detail map[string]any

// write runs a statement and appends its audit entry.
func (t *Tx) write(e entry, query string, args ...any) error {
	if err := t.exec(query, args...); err != nil {
		return err
	}
	return t.record(e.by, e.action, e.detail, e.subject)
}

// put inserts a row, or replaces the row with the same key, and appends the audit entry.
func (t *Tx) put(e entry, table, key, columns string, row []any) error {
	if err := execRows(t, 1, insertInto(table, columns), onConflict(key, columns, replaced), [][]any{row}); err != nil {
		return err
	}
	return t.record(e.by, e.action, e.detail, e.subject)
}

// record appends an audit entry for each subject. It ignores changes without an actor: API
// callers change their categories without audit entries.
func (t *Tx) record(by petcat.Actor, action string, d detail, subjects ...string) error {
	if by == "" {
		return nil
	}
	head, err := t.auditHead()
	if err != nil {
		return err
	}
	if d == nil {
		d = detail{}
	}
	text, err := json.Marshal(d) // sorts the members
	if err != nil {
		return fmt.Errorf("encode the detail of %s: %w", action, err)
	}
	rows := make([][]any, len(subjects))
	for i, subject := range subjects {
		e := head.Append(petcat.AuditEntry{At: t.now, Actor: by, Action: action, Subject: subject, Detail: string(text)})
		rows[i] = auditInto(&e)
	}
	t.audit = &head
	return execRows(t, RowsInStatement, insertInto("audit", auditColumns), ``, rows)
}

// auditHead returns the end of the log. It reads the log once in each transaction: other
// processes cannot append while this transaction locks the counter row.
func (t *Tx) auditHead() (petcat.AuditHead, error) {
	const query = `SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1`
	if t.audit != nil {
		return *t.audit, nil
	}
	return one(t, func(h *petcat.AuditHead) []any { return []any{&h.Sequence, (*hash)(&h.Hash)} }, nil, query)
}

const auditColumns = `sequence, at, actor, action, subject, detail, hash`

func auditInto(e *petcat.AuditEntry) []any {
	return []any{&e.Sequence, (*moment)(&e.At), (*string)(&e.Actor), &e.Action, &e.Subject, &e.Detail, (*hash)(&e.Hash)}
}

const selectAudit = `SELECT ` + auditColumns + ` FROM audit`

// CheckAudit adds all entries of the audit log to a check.
func CheckAudit(c Conn, check *petcat.AuditCheck) error {
	return c.Query(func(scan Scan) error {
		var e petcat.AuditEntry
		err := scan(auditInto(&e)...)
		check.Add(e)
		return err
	}, selectAudit+` ORDER BY sequence`)
}

// EachAuditEntry implements [petcat.AuditStore].
func (s *Store) EachAuditEntry(ctx context.Context, q petcat.AuditQuery, fn func(petcat.AuditEntry) error) error {
	const doing = "read the audit log"
	var c conditions
	c.when(q.Account != 0, `(subject = ? OR subject IN (SELECT 'key_' || id FROM api_keys WHERE account_id = ?))`, q.Account.String(), int64(q.Account))
	c.when(q.Key != 0, `subject = ?`, q.Key.String())
	c.when(q.Actor != "", `actor = ?`, string(q.Actor))
	c.when(!q.Since.IsZero(), `at >= ?`, q.Since.UnixMilli())
	c.when(q.Before > 0, `sequence < ?`, q.Before)
	if q.Newest == 0 {
		query, args := c.page(selectAudit, `sequence`, 0)
		return each(ctx, s, doing, auditInto, fn, query, args...)
	}
	query, args := c.page(selectAudit, `sequence DESC`, q.Newest)
	newest, err := list(ctx, s, doing, auditInto, query, args...)
	for _, e := range slices.Backward(newest) {
		if err := fn(e); err != nil {
			return err
		}
	}
	return err
}
