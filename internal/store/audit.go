package store

import (
	"context"
	"encoding/json"
	"fmt"

	"petcat"
)

// chain is the head of the audit log, read when it is first needed.
type chain struct {
	known bool
	head  petcat.AuditHead
}

// detail is what an audit entry contains beside actor, action and subject. It must not
// contain a secret.
type detail map[string]any

// record appends an audit entry to the transaction of the change it describes.
func (t *Tx) record(by petcat.Actor, action string, subject fmt.Stringer, d detail) error {
	return t.recordEach(by, action, []string{subject.String()}, d)
}

// recordEach appends an entry for each subject.
func (t *Tx) recordEach(by petcat.Actor, action string, subjects []string, d detail) error {
	const insert = `INSERT INTO audit (sequence, at, actor, action, subject, detail, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`
	if err := t.findChain(); err != nil {
		return err
	}
	if d == nil {
		d = detail{}
	}
	text, err := json.Marshal(d) // members in alphabetical order
	if err != nil {
		return fmt.Errorf("encode the detail of %s: %w", action, err)
	}
	rows := make([][]any, len(subjects))
	for i, subject := range subjects {
		e := t.chain.head.Append(petcat.AuditEntry{At: t.now, Actor: by, Action: action, Subject: subject, Detail: string(text)})
		rows[i] = []any{e.Sequence, e.At.UnixMilli(), string(e.Actor), e.Action, e.Subject, e.Detail, e.Hash[:]}
	}
	return t.ExecEach(insert, rows)
}

// findChain reads the last entry, once in each transaction that needs it: other processes
// append too, but not while this transaction holds the counter's row.
func (t *Tx) findChain() error {
	const query = `SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1`
	if t.chain.known {
		return nil
	}
	_, err := t.QueryRow(query, nil, &t.chain.head.Sequence, (*hash)(&t.chain.head.Hash))
	t.chain.known = err == nil
	return err
}

func auditInto(e *petcat.AuditEntry) []any {
	return []any{&e.Sequence, (*moment)(&e.At), (*string)(&e.Actor), &e.Action, &e.Subject, &e.Detail, (*hash)(&e.Hash)}
}

// CheckAudit adds all entries of the audit log to a check.
func CheckAudit(c Conn, check *petcat.AuditCheck) error {
	query, _ := auditQuery(petcat.AuditQuery{})
	return c.Query(func(scan Scan) error {
		var e petcat.AuditEntry
		err := scan(auditInto(&e)...)
		check.Add(e)
		return err
	}, query)
}

// EachAuditEntry implements [petcat.AuditStore].
func (s *Store) EachAuditEntry(ctx context.Context, q petcat.AuditQuery, fn func(petcat.AuditEntry) error) error {
	query, args := auditQuery(q)
	return each(ctx, s, "read the audit log", auditInto, fn, query, args...)
}

// auditQuery returns the statement that reads what q chooses, and its arguments.
func auditQuery(q petcat.AuditQuery) (query string, args []any) {
	const columns = `SELECT sequence, at, actor, action, subject, detail, hash FROM audit`
	var c conditions
	if q.Account != 0 {
		c.add(`(subject = ? OR subject IN (SELECT 'key_' || id FROM api_keys WHERE account_id = ?))`, q.Account.String(), int64(q.Account))
	}
	if q.Key != 0 {
		c.add(`subject = ?`, q.Key.String())
	}
	if q.Actor != "" {
		c.add(`actor = ?`, string(q.Actor))
	}
	if !q.Since.IsZero() {
		c.add(`at >= ?`, q.Since.UnixMilli())
	}
	if q.From > 0 {
		c.add(`sequence >= ?`, q.From)
	}
	if q.Before > 0 {
		c.add(`sequence < ?`, q.Before)
	}
	if q.Newest > 0 {
		query, args = c.page(columns, `sequence DESC`, q.Newest)
		return `SELECT * FROM (` + query + `) AS newest ORDER BY sequence`, args
	}
	return columns + ` WHERE true` + c.text.String() + ` ORDER BY sequence`, c.args
}
