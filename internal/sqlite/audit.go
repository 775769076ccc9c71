package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"petcat"
)

// detail is what an audit entry tells beyond who did what to whom. It must not
// hold a secret.
type detail map[string]any

// record appends an audit entry to the transaction of the change it describes.
func (t *tx) record(by petcat.Actor, action string, subject fmt.Stringer, d detail) error {
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
	e := t.chain.end.Append(petcat.AuditEntry{At: t.now, Actor: by, Action: action, Subject: subject.String(), Detail: string(text)})
	return t.exec(insert, e.Sequence, e.At.UnixMilli(), string(e.Actor), e.Action, e.Subject, e.Detail, e.Hash[:])
}

// findChain reads the last entry. Other processes append too, so it is read anew
// in each transaction that needs it.
func (t *tx) findChain() error {
	const query = `SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1`
	if t.chain.known {
		return nil
	}
	var hash []byte
	ok, err := found(t.get(query, nil, &t.chain.end.Sequence, &hash))
	if ok {
		copy(t.chain.end.Hash[:], hash)
	}
	t.chain.known = err == nil
	return err
}

// EachAuditEntry implements [petcat.AuditStore].
func (s *Store) EachAuditEntry(ctx context.Context, q petcat.AuditQuery, fn func(petcat.AuditEntry) error) error {
	query, args := auditQuery(q)
	return each(ctx, s.readers, "read the audit log", func(scan scanner) error {
		var e petcat.AuditEntry
		var at int64
		var hash []byte
		if err := scan(&e.Sequence, &at, &e.Actor, &e.Action, &e.Subject, &e.Detail, &hash); err != nil {
			return err
		}
		e.At = time.UnixMilli(at).UTC()
		copy(e.Hash[:], hash)
		return stop(fn(e))
	}, query, args...)
}

// auditQuery returns the statement that reads what q chooses, and its arguments.
func auditQuery(q petcat.AuditQuery) (query string, args []any) {
	where := func(condition string, values ...any) {
		query += " AND " + condition
		args = append(args, values...)
	}
	query = `SELECT sequence, at, actor, action, subject, detail, hash FROM audit WHERE true`
	if q.Account != 0 {
		where(`(subject = ? OR subject IN (SELECT 'key_' || id FROM api_key WHERE account_id = ?))`, q.Account.String(), int64(q.Account))
	}
	if q.Key != 0 {
		where(`subject = ?`, q.Key.String())
	}
	if !q.Since.IsZero() {
		where(`at >= ?`, q.Since.UnixMilli())
	}
	if q.Newest > 0 {
		query = `SELECT * FROM (` + query + ` ORDER BY sequence DESC LIMIT ` + strconv.Itoa(q.Newest) + `) AS newest`
	}
	return query + ` ORDER BY sequence`, args
}
