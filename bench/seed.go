package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/datadir"
	"github.com/petcat-api/petcat/internal/sqlite"
	"github.com/petcat-api/petcat/internal/store"
)

// category is the category that every server stores.
type category struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

const description = "Domesticated descendants of the wolf, kept for company and for work"

// categoryNumber returns the nth category of fill.
func categoryNumber(i int) category { return category{fmt.Sprint("Dogs ", i), description} }

// fill adds categories to account 1, and accounts on the Free plan with one unusable key each.
// The API would take minutes, so it writes the rows and the counters directly.
func fill(ctx context.Context, dir string, categories, keys int) (err error) {
	const (
		series        = `WITH RECURSIVE series (i) AS (SELECT 1 WHERE ?1 > 0 UNION ALL SELECT i + 1 FROM series WHERE i < ?1) `
		addCategories = series + `
			INSERT INTO categories (id, name, description, revision, account_id, created_at)
			SELECT c.category_id + i, 'Dogs ' || i, ?2, c.revision + i, 1, unixepoch() * 1000
			FROM series, counter AS c`
		countCategories = `UPDATE counter SET category_id = category_id + ?1, revision = revision + ?1`
		addAccounts     = series + `
			INSERT INTO accounts (id, name, plan, per_minute, per_day, max_categories, max_bytes, created_at, revision)
			SELECT c.account_id + i, 'account ' || i, 'free', 60, 1000, 10000, 2097152, unixepoch() * 1000, c.revision + i
			FROM series, counter AS c`
		addKeys = series + `
			INSERT INTO api_keys (id, account_id, hash, label, hint, created_at, successor_id, revision)
			SELECT c.key_id + i, c.account_id + i, randomblob(32), '', 'seed', unixepoch() * 1000, 0, c.revision + ?1 + i
			FROM series, counter AS c`
		countKeys = `UPDATE counter SET account_id = account_id + ?1, key_id = key_id + ?1,
			revision = revision + 2 * ?1, access_revision = revision + 2 * ?1`
	)
	data, err := datadir.Open(dir, true)
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: data, Environment: petcat.Production, Clock: clock.NewSystem()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return store.New(db, clock.NewSystem()).Change(ctx, "fill the database", func(t *store.Tx) error {
		_, err := t.Exec(addCategories, categories, description)
		for _, add := range []struct {
			statement string
			n         int
		}{{countCategories, categories}, {addAccounts, keys}, {addKeys, keys}, {countKeys, keys}} {
			if err == nil {
				_, err = t.Exec(add.statement, add.n)
			}
		}
		return err
	})
}
