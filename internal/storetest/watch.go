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
	seen map[string][]string // by statement: what it scans
}

// Explain returns the tables, their aliases or the indexes that a statement reads completely.
type Explain func(q store.Querier, query string, args []any) (scanned []string, err error)

// NewWatch returns a Watch that has seen nothing.
func NewWatch(explain Explain) *Watch {
	return &Watch{explain: explain, seen: make(map[string][]string)}
}

// see explains a statement that it has not seen.
func (w *Watch) see(q store.Querier, query string, args []any) error {
	w.mu.Lock()
	_, seen := w.seen[query]
	w.mu.Unlock()
	if seen {
		return nil
	}
	scanned, err := w.explain(q, query, args)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[query] = scanned
	return err
}

// knownScan is a scan that is not a mistake.
type knownScan struct {
	table string // or its alias, or an index
	in    string // a part of the statement
}

// knownScans returns the reasons of scans by statements with a condition.
func knownScans() map[knownScan]string {
	const (
		small     = "it has few rows"
		generated = "the statement generates its rows"
	)
	return map[knownScan]string{
		{"counter", ""}:         small,
		{"meta", ""}:            small,
		{"e", "FROM meta AS e"}: small,
		{"d", "meta AS d"}:      small,
		{"nodes", ""}:           small,
		{"usage_nodes", ""}:     small,
		{"operators", ""}:       small,
		{"operator_tokens", ""}: small,

		{"hours", "WITH RECURSIVE"}:              generated,
		{"h", "FROM hours AS h"}:                 generated,
		{"days", "WITH RECURSIVE"}:               generated,
		{"d", "FROM days AS d"}:                  generated,
		{"counted", ") AS counted"}:              generated,
		{"plan_request_pending", ""}:             "the index has only the pending requests",
		{"audit", "at >= "}:                      "the newest entries since a time, in the order of the log, end with the limit",
		{"bans", "ends_at > $1 ORDER BY key_id"}: "the first bans in force by key; the table has those of 30 days",
	}
}

// where matches a statement with a condition. Others read all rows, or the first ones in an order.
var where = regexp.MustCompile(`\bWHERE\b`)

// WantNoScans fails the test if a statement with a condition scanned a table without a known reason.
func (w *Watch) WantNoScans(t *testing.T) {
	t.Helper()
	for query, scanned := range w.seen {
		for _, table := range scanned {
			if where.MatchString(query) && !scanIsKnown(table, query) {
				t.Errorf("a scan of %s: %s", table, query)
			}
		}
	}
}

func scanIsKnown(table, query string) bool {
	for scan := range knownScans() {
		if scan.table == table && strings.Contains(query, scan.in) {
			return true
		}
	}
	return false
}

// WantAll fails the test unless all statements in the source of package store ran.
func (w *Watch) WantAll(t *testing.T, d store.Dialect) {
	t.Helper()
	for _, s := range Statements(t) {
		if filepath.Base(s.At.Filename) == "backup.go" { // tested by package backup
			continue
		}
		ran := false
		for query := range w.seen {
			ran = ran || strings.HasPrefix(query, d.Text(s.Text))
		}
		if !ran {
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

func (db watchedDB) Each(ctx context.Context, doing string, row func(store.Scan) error, query string, args ...any) error {
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
