// Package seed fills petcat's database with a million rows in seconds. petcat's own
// store cannot be imported from another module, and through the API a million
// creates would take minutes, so it writes the rows directly, by the schema in
// internal/sqlite/migrations, with the counters as the store would have left them.
// petcat must have created the database, and no program may have it open.
package seed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver
)

// Record is a category.
type Record struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// kinds are what the categories are made of, in turns.
func kinds() []Record {
	return []Record{
		{"Dogs", "Domesticated descendants of the wolf, kept for company and for work"},
		{"Cats", "Small carnivores that sleep for most of the day"},
		{"Rabbits", "Long-eared, gentle, and fond of hay"},
		{"Goldfish", "Freshwater fish of the carp family"},
		{"Parrots", "Colourful birds, some of which talk"},
		{"Hamsters", "Rodents with roomy cheeks, awake at night"},
		{"Tortoises", "Reptiles with a shell that may outlive their keepers"},
		{"Guinea pigs", "Sociable rodents from the Andes"},
		{"Geckos", "Lizards that climb on glass"},
		{"Ferrets", "Curious relatives of the polecat"},
	}
}

// Records returns the first n categories that Categories writes.
func Records(n int) []Record {
	of := kinds()
	records := make([]Record, n)
	for i := range records {
		k := of[i%len(of)]
		records[i] = Record{Name: fmt.Sprintf("%s %d", k.Name, i+1), Description: k.Description}
	}
	return records
}

// Database returns the database in one of petcat's data directories.
func Database(data string) (string, error) {
	found, err := filepath.Glob(filepath.Join(data, "*.db"))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%d databases in the data directory, want one", len(found))
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// Categories adds n categories of account 1.
func Categories(ctx context.Context, data string, n int) error {
	const insert = `
		WITH RECURSIVE series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < ?1)
		INSERT INTO categories (id, name, description, revision, account_id, created_at)
		SELECT c.category_id + i, k.name || ' ' || i, k.description, c.revision + i, 1, unixepoch() * 1000
		FROM series, counter AS c JOIN kind AS k ON k.id = (i - 1) % ?2`
	const count = `UPDATE counter SET category_id = category_id + ?1, revision = revision + ?1`
	return write(ctx, data, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `CREATE TEMP TABLE kind (id INTEGER PRIMARY KEY, name TEXT, description TEXT)`); err != nil {
			return err
		}
		for i, k := range kinds() {
			if _, err := tx.ExecContext(ctx, `INSERT INTO kind (id, name, description) VALUES (?, ?, ?)`, i, k.Name, k.Description); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, insert, n, len(kinds())); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, count, n)
		return err
	})
}

// Accounts adds n accounts on the Free plan with a key each, which nobody knows.
func Accounts(ctx context.Context, data string, n int) error {
	const accounts = `
		WITH RECURSIVE series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < ?1)
		INSERT INTO accounts (id, name, plan, per_minute, per_day, created_at, revision)
		SELECT c.account_id + i, 'account ' || i, 'free', 60, 1000, unixepoch() * 1000, c.revision + i
		FROM series, counter AS c`
	// A key for every account that has none, after the accounts' revisions.
	const keys = `
		WITH RECURSIVE series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < ?1)
		INSERT INTO api_keys (id, account_id, hash, label, hint, created_at, successor_id, revision)
		SELECT c.key_id + i, c.account_id + i, randomblob(32), '', 'seed', unixepoch() * 1000, 0, c.revision + ?1 + i
		FROM series, counter AS c`
	const count = `UPDATE counter SET account_id = account_id + ?1, key_id = key_id + ?1,
		revision = revision + 2 * ?1, access_revision = revision + 2 * ?1`
	return write(ctx, data, func(tx *sql.Tx) error {
		for _, statement := range []string{accounts, keys, count} {
			if _, err := tx.ExecContext(ctx, statement, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// write runs fn in a transaction, and leaves everything in the database's file,
// on the disk, so that nothing of it is still to be done while something is
// measured.
func write(ctx context.Context, data string, fn func(*sql.Tx) error) (err error) {
	path, err := Database(data)
	if err != nil {
		return err
	}
	// Half a gigabyte of cache: keys are inserted in random order.
	query := url.Values{"_pragma": {"synchronous(OFF)", "cache_size(-500000)", "temp_store(MEMORY)"}}
	name := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close(), sync(path)) }()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(fmt.Errorf("seed the database: %w", err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func sync(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
