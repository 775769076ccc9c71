package store

import (
	"strings"

	"petcat"
	"petcat/internal/backup"
)

// table returns the table of a kind of rows, and the columns that order them.
// All its columns are named as in the format.
func table(k backup.Kind) (name, order string) {
	switch k {
	case backup.Accounts:
		return "account", "id"
	case backup.Keys:
		return "api_key", "id"
	case backup.Bans:
		return "ban", "key_id"
	case backup.Categories:
		return "category", "id"
	case backup.IdempotencyKeys:
		return "idempotency", "account_id, key"
	case backup.DayCounts:
		return "day_count", "day, account_id"
	case backup.AuditEntries:
		return "audit", "sequence"
	case backup.Pets:
		return "pet", "id"
	case backup.Orders:
		return "store_order", "id"
	case backup.UsageNodes:
		return "usage_node", "node"
	case backup.UsageHours:
		return "usage", "hour, account_id"
	case backup.UsageDays:
		return "usage_day", "day, account_id"
	case backup.KeyUses:
		return "key_use", "key_id"
	default:
		return "", ""
	}
}

// Table returns the table of a kind of rows, and its columns as in the format.
func Table(k backup.Kind) (name string, columns []string) {
	name, _ = table(k)
	for _, c := range k.Columns() {
		columns = append(columns, c.Name)
	}
	return name, columns
}

// SelectRows returns the statement that reads all rows of a kind, in the order and
// with the columns of the format.
func SelectRows(k backup.Kind) string {
	name, order := table(k)
	_, columns := Table(k)
	return `SELECT ` + strings.Join(columns, ", ") + ` FROM ` + name + kept(k) + ` ORDER BY ` + order
}

// kept returns the condition for rows of a kind to be in a backup. Deleted categories are not:
// their rows only tell nodes and clients that know an earlier list, and restored data has none.
func kept(k backup.Kind) string {
	if k == backup.Categories {
		return ` WHERE deleted_at IS NULL`
	}
	return ""
}

// InsertRow returns the statement that writes one row of a kind.
func InsertRow(k backup.Kind) string {
	name, columns := Table(k)
	return `INSERT INTO ` + name + ` (` + strings.Join(columns, ", ") + `) VALUES (?` + strings.Repeat(", ?", len(columns)-1) + `)`
}

// BackupHeader returns the header of a backup. All statements on c must see the same
// snapshot of the data. It calls before ahead of each statement, some of which read a whole
// table.
func (s *Store) BackupHeader(c Conn, before func()) (backup.Header, error) {
	h := backup.Header{
		TakenAt: Now(s.clock), Environment: s.meta.Environment, Dataset: backup.Dataset(s.meta.Dataset),
		Rows: make(map[backup.Kind]int64),
	}
	var n Sequences
	before()
	if _, err := c.QueryRow(SelectSequences, nil, n.Into()...); err != nil {
		return h, err
	}
	h.Revision, h.AccessRevision, h.LastCategory, h.LastAccount, h.LastKey = n.Revision, n.Access, n.Category, n.Account, n.Key
	h.LastPet, h.LastOrder = n.Pet, n.Order
	for _, k := range backup.Kinds() {
		name, _ := table(k)
		var rows int64
		before()
		if _, err := c.QueryRow(`SELECT count(*) FROM `+name+kept(k), nil, &rows); err != nil {
			return h, err
		}
		h.Rows[k] = rows
	}
	return h, nil
}

// WantEmpty returns [backup.ErrNotEmpty] if anything was ever written. It ignores and
// deletes the usage history: a server writes one even if there is no account yet.
func (t *Tx) WantEmpty() error {
	const query = `SELECT EXISTS (SELECT 1 FROM account) OR EXISTS (SELECT 1 FROM api_key) OR EXISTS (SELECT 1 FROM category)
		OR EXISTS (SELECT 1 FROM idempotency) OR EXISTS (SELECT 1 FROM day_count) OR EXISTS (SELECT 1 FROM audit)`
	var data bool
	if _, err := t.QueryRow(query, nil, &data); err != nil {
		return err
	}
	if data || t.sequences != (Sequences{}) {
		return backup.ErrNotEmpty
	}
	for _, k := range []backup.Kind{backup.UsageNodes, backup.UsageHours, backup.UsageDays} {
		name, _ := table(k)
		if err := t.exec(`DELETE FROM ` + name); err != nil {
			return err
		}
	}
	return nil
}

// Restored ends a restore, after all rows were written: ids and revisions continue from
// those of the backup.
func (t *Tx) Restored(by petcat.Actor, h backup.Header) error {
	t.sequences = Sequences{
		Revision: h.Revision, Access: h.AccessRevision,
		Category: h.LastCategory, Account: h.LastAccount, Key: h.LastKey,
		Pet: h.LastPet, Order: h.LastOrder,
	}
	return t.record(by, backup.AuditRestore, h.Dataset, h.Detail())
}
