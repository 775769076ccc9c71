package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"petcat"
)

// detail is what an audit entry tells beyond who did what to whom. It must not
// hold a secret.
type detail map[string]any

// record appends an audit entry to the transaction of the change it describes.
func (t *tx) record(by petcat.Actor, action string, subject fmt.Stringer, d detail) error {
	return t.recordEach(by, action, []string{subject.String()}, d)
}

// recordEach appends an entry for each subject, in one statement.
func (t *tx) recordEach(by petcat.Actor, action string, subjects []string, d detail) error {
	const insert = `INSERT INTO audit (sequence, at, actor, action, subject, detail, hash)
		SELECT sequence, $1::int8, $2::text, $3::text, subject, $4::text, hash FROM unnest($5::int8[], $6::text[], $7::bytea[]) AS t (sequence, subject, hash)`
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
	sequences, hashes := make([]int64, len(subjects)), make([][]byte, len(subjects))
	for i, subject := range subjects {
		e := t.chain.end.Append(petcat.AuditEntry{At: t.now, Actor: by, Action: action, Subject: subject, Detail: string(text)})
		sequences[i], hashes[i] = e.Sequence, e.Hash[:]
	}
	return t.exec(insert, t.now.UnixMilli(), string(by), action, string(text), sequences, subjects, hashes)
}

// findChain reads the last entry. Other nodes append too, so it is read anew in
// each transaction that needs it, under the lock on the counter's row.
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
	return s.pool.each(ctx, "read the audit log", func(scan scanner) error {
		var e petcat.AuditEntry
		var at int64
		var hash []byte
		if err := scan(&e.Sequence, &at, (*string)(&e.Actor), &e.Action, &e.Subject, &e.Detail, &hash); err != nil {
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
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(args)), 1)
		}
		query += " AND " + condition
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
