package store

import (
	"context"
	"strings"

	"petcat"
)

// conditions are the conditions of a query, joined by AND.
type conditions struct {
	text strings.Builder
	args []any
}

func (c *conditions) add(condition string, values ...any) {
	c.text.WriteString(" AND " + condition)
	c.args = append(c.args, values...)
}

// page returns the statement that reads one page of the rows that meet the conditions, and
// its arguments.
func (c *conditions) page(selected, order string, limit int) (query string, args []any) {
	return selected + ` WHERE true` + c.text.String() + ` ORDER BY ` + order + ` LIMIT ?`, append(c.args, int64(limit))
}

// lastCharacter is the largest character. A prefix with it appended sorts after all names
// with that prefix.
const lastCharacter = "\U0010FFFF"

// AccountPage implements [petcat.AccountStore].
func (s *Store) AccountPage(ctx context.Context, q petcat.AccountQuery) ([]petcat.Account, error) {
	var c conditions
	after := asciiLower(q.After.Name) // no row value (name, id) > (?, ?): SQLite cannot use an index on an expression for it
	if from := max(asciiLower(q.Prefix), after); from != "" {
		c.add(`lower(name) >= ?`, from)
	}
	if q.Prefix != "" {
		c.add(`lower(name) < ?`, asciiLower(q.Prefix)+lastCharacter)
	}
	if q.After.ID != 0 {
		c.add(`(lower(name) > ? OR id > ?)`, after, int64(q.After.ID))
	}
	query, args := c.page(`SELECT `+accountColumns+` FROM accounts`, `lower(name), id`, q.Limit)
	return list(ctx, s, "read a page of accounts", accountInto, query, args...)
}

// asciiLower returns what lower() returns in both databases: only the letters from A to Z
// change.
func asciiLower(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + ('a' - 'A')
		}
		return c
	}, name)
}

// KeyPage implements [petcat.KeyStore].
func (s *Store) KeyPage(ctx context.Context, q petcat.KeyQuery) ([]petcat.Key, error) {
	var c conditions
	c.add(`account_id = ?`, int64(q.Account))
	if q.Before != 0 {
		c.add(`id < ?`, int64(q.Before))
	}
	query, args := c.page(`SELECT `+keyColumns+` FROM api_keys`, `id DESC`, q.Limit)
	return list(ctx, s, "read a page of keys", keyInto, query, args...)
}

// BanPage implements [petcat.BanStore].
func (s *Store) BanPage(ctx context.Context, q petcat.BanQuery) ([]petcat.Ban, error) {
	var c conditions
	if !q.Active.IsZero() {
		c.add(`lifted_at IS NULL`)
		c.add(`ends_at > ?`, q.Active.UnixMilli())
	}
	if q.Account != 0 {
		c.add(`account_id = ?`, int64(q.Account))
	}
	if q.After != 0 {
		c.add(`key_id > ?`, int64(q.After))
	}
	query, args := c.page(`SELECT `+banColumns+` FROM bans`, `key_id`, q.Limit)
	return list(ctx, s, "read a page of bans", banInto, query, args...)
}
