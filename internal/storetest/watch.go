package storetest

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/petcat-api/petcat/internal/store"
)

// Watch explains each statement of a store before it runs the first time. After a run of the suite, it
// knows the plans of all statements.
type Watch struct {
	explain Explain

	mu   sync.Mutex
	seen map[string][]string // scanned tables by statement
}

// Explain returns the tables, their aliases or the indexes that a statement reads completely.
type Explain func(q store.Querier, query string, args []any) (scanned []string, err error)

// NewWatch returns an empty Watch.
func NewWatch(explain Explain) *Watch {
	return &Watch{explain: explain, seen: make(map[string][]string)}
}

// see explains a statement that it has not seen.
func (w *Watch) see(q store.Querier, query string, args []any) error {
	w.mu.Lock()
	_, seen := w.seen[query]
	w.mu.Unlock()
	if seen || strings.HasPrefix(query, "ALTER ") { // EXPLAIN knows only statements with a plan
		return nil
	}
	scanned, err := w.explain(q, query, args)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[query] = scanned
	return err
}

// Scan is a scan that is not a mistake.
type Scan struct {
	Table string // or its alias, or an index
	In    string // a part of the statement
}

// where matches a statement with a condition. Others read all rows, or the first ones in an order.
var where = regexp.MustCompile(`\bWHERE\b`)

// WantNoScans fails the test if a statement with a condition scanned a table without a known reason, or
// if no statement scans what a reason is known for.
func (w *Watch) WantNoScans(t *testing.T, reasons map[Scan]string) {
	t.Helper()
	used := make(map[Scan]bool)
	for query, scanned := range w.seen {
		if !where.MatchString(query) {
			continue
		}
		for _, table := range scanned {
			known := false
			for scan := range reasons {
				if scan.Table == table && strings.Contains(query, scan.In) {
					known, used[scan] = true, true
				}
			}
			if !known {
				t.Errorf("a scan of %s: %s", table, query)
			}
		}
	}
	for scan, reason := range reasons {
		if !used[scan] {
			t.Errorf("no statement scans %+v, which is known because %s", scan, reason)
		}
	}
}

// WantAll fails the test unless all statements in the source of package store ran. A query with a filter
// counts for the longest statement that it begins with.
func (w *Watch) WantAll(t *testing.T, d store.Dialect) {
	t.Helper()
	all := Statements(t)
	ran := make(map[string]bool)
	for query := range w.seen {
		longest := ""
		for _, s := range all {
			if text := d.Text(s.Text); len(text) > len(longest) && strings.HasPrefix(query, text) {
				longest = text
			}
		}
		ran[longest] = true
	}
	for _, s := range all {
		backup := filepath.Base(s.At.Filename) == "backup.go" // tested by package backup
		if !backup && !ran[d.Text(s.Text)] {
			t.Errorf("%s: no test ran %s", s.At, s.Text)
		}
	}
}

// DB returns a database whose statements are watched.
func (w *Watch) DB(db store.DB) store.DB { return watchedDB{db, w} }

type watchedDB struct {
	store.DB

	watch *Watch
}

func (db watchedDB) Begin(ctx context.Context, w store.Work) (*store.Tx, error) {
	tx, err := db.DB.Begin(ctx, w)
	if err == nil {
		tx.Conn = watchedConn{tx.Conn, db.watch}
	}
	return tx, err
}

func (db watchedDB) BeginWrite(ctx context.Context, doing string) (store.Write, error) {
	w, err := db.DB.BeginWrite(ctx, doing)
	if err == nil {
		w.Conn = watchedConn{w.Conn, db.watch}
	}
	return w, err
}

// Create runs the statements of a group with one create.
func (db watchedDB) Create(ctx context.Context, c *store.Create) (err error) {
	tx, err := db.Begin(ctx, store.Work{Doing: "create", Account: c.Account})
	if err != nil {
		return err
	}
	defer tx.End(&err)
	if err := tx.CreateAll([]*store.Create{c}); err != nil {
		return err
	}
	if c.Outcome != nil {
		return c.Outcome
	}
	return tx.Commit()
}

func (db watchedDB) Read(ctx context.Context, doing string, fn func(store.Querier) error) error {
	return db.DB.Read(ctx, doing, func(q store.Querier) error { return fn(watchedQuerier{q, db.watch}) })
}

func (db watchedDB) Each(
	ctx context.Context, doing string, row func(store.Scan) error, query string, args ...any,
) error {
	err := db.DB.Read(ctx, "explain", func(q store.Querier) error { return db.watch.see(q, query, args) })
	if err != nil {
		return err
	}
	return db.DB.Each(ctx, doing, row, query, args...)
}

type watchedConn struct {
	store.Conn

	watch *Watch
}

func (c watchedConn) Exec(query string, args ...any) (int64, error) {
	if err := c.watch.see(c.Conn, query, args); err != nil {
		return 0, err
	}
	return c.Conn.Exec(query, args...)
}

func (c watchedConn) Run(query string, args ...any) error {
	if err := c.watch.see(c.Conn, query, args); err != nil {
		return err
	}
	return c.Conn.Run(query, args...)
}

func (c watchedConn) Query(row func(store.Scan) error, query string, args ...any) error {
	return watchedQuerier{c.Conn, c.watch}.Query(row, query, args...)
}

func (c watchedConn) QueryEach(row func(int, store.Scan) error, query string, args [][]any) error {
	return watchedQuerier{c.Conn, c.watch}.QueryEach(row, query, args)
}

type watchedQuerier struct {
	store.Querier

	watch *Watch
}

func (q watchedQuerier) Query(row func(store.Scan) error, query string, args ...any) error {
	if err := q.watch.see(q.Querier, query, args); err != nil {
		return err
	}
	return q.Querier.Query(row, query, args...)
}

func (q watchedQuerier) QueryEach(row func(int, store.Scan) error, query string, args [][]any) error {
	if len(args) > 0 {
		if err := q.watch.see(q.Querier, query, args[0]); err != nil {
			return err
		}
	}
	return q.Querier.QueryEach(row, query, args)
}
