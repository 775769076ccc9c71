package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/petcat-api/petcat"
)

// detail has further fields of an audit entry. It must not contain a secret.
type detail map[string]any

// log appends an audit entry. It ignores a change without an actor: API clients change their categories
// without audit entries.
func (t *Tx) log(by petcat.Actor, action, subject string, d detail) error {
	if by == "" {
		return nil
	}
	if d == nil {
		d = detail{}
	}
	text, err := json.Marshal(d) // sorts the members
	if err != nil {
		return fmt.Errorf("encode the detail of %s: %w", action, err)
	}
	head, err := t.auditHead()
	if err != nil {
		return err
	}
	e := head.Append(petcat.AuditEntry{
		At:      t.now,
		Actor:   by,
		Action:  action,
		Subject: subject,
		Detail:  string(text),
	})
	t.audit = &head
	return t.insertAuditEntry(e)
}

const insertAuditEntry = `
	INSERT INTO audit (sequence, at, actor, action, subject, detail, hash)
	VALUES ($1, $2, $3, $4, $5, $6, $7)`

func (t *Tx) insertAuditEntry(e petcat.AuditEntry) error {
	return t.Run(insertAuditEntry,
		e.Sequence,
		e.At.UnixMilli(),
		e.Actor,
		e.Action,
		e.Subject,
		e.Detail,
		e.Hash[:],
	)
}

const selectAuditHead = `SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1`

// auditHead returns the end of the log. It reads the log once in each transaction: other
// processes cannot append while this transaction locks the counter row.
func (t *Tx) auditHead() (petcat.AuditHead, error) {
	if t.audit != nil {
		return *t.audit, nil
	}
	return queryRow(t, scanAuditHead, nil, selectAuditHead)
}

func scanAuditHead(row Row) (h petcat.AuditHead, err error) {
	err = row.Scan(&h.Sequence, (*hash)(&h.Hash))
	return h, err
}

const selectAudit = `SELECT sequence, at, actor, action, subject, detail, hash FROM audit`

func scanAuditEntry(row Row) (e petcat.AuditEntry, err error) {
	err = row.Scan(
		&e.Sequence,
		(*moment)(&e.At),
		&e.Actor,
		&e.Action,
		&e.Subject,
		&e.Detail,
		(*hash)(&e.Hash),
	)
	return e, err
}

// CheckAudit adds all entries of the audit log to a check.
func CheckAudit(q Querier, check *petcat.AuditCheck) error {
	return q.Query(func(row Scan) error {
		e, err := scanAuditEntry(row)
		check.Add(e)
		return err
	}, selectAudit+` ORDER BY sequence`)
}

// auditFilter returns the conditions of a query.
func auditFilter(q petcat.AuditQuery) *filter {
	f := &filter{}
	if q.Account != 0 {
		// Not subject = $1 OR subject IN (...): PostgreSQL cannot use an index for that.
		account, id := f.arg(q.Account.String()), f.arg(q.Account)
		f.and(`subject IN (SELECT ` + account + ` UNION ALL SELECT 'key_' || id FROM api_keys WHERE account_id = ` + id + `)`)
	}
	if q.Key != 0 {
		f.and(`subject = ` + f.arg(q.Key.String()))
	}
	if q.Actor != "" {
		f.and(`actor = ` + f.arg(q.Actor))
	}
	if !q.Since.IsZero() {
		f.and(`at >= ` + f.arg(q.Since.UnixMilli()))
	}
	if q.Before > 0 {
		f.and(`sequence < ` + f.arg(q.Before))
	}
	return f
}

// EachAuditEntry implements [petcat.AuditStore].
func (s *Store) EachAuditEntry(ctx context.Context, q petcat.AuditQuery, fn func(petcat.AuditEntry) error) error {
	if q.Newest == 0 {
		f := auditFilter(q)
		query := selectAudit + f.where() + ` ORDER BY sequence`
		return eachRow(ctx, s, "read the audit log", scanAuditEntry, fn, query, f.args...)
	}
	newest, err := s.AuditPage(ctx, q)
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(newest) {
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// AuditPage implements [petcat.AuditStore].
func (s *Store) AuditPage(ctx context.Context, q petcat.AuditQuery) ([]petcat.AuditEntry, error) {
	f := auditFilter(q)
	query := selectAudit + f.where() + ` ORDER BY sequence DESC LIMIT ` + f.arg(q.Newest)
	return queryRows(s.reader(ctx, "read a page of the audit log"), scanAuditEntry, query, f.args...)
}
