package sqlite

import (
	"regexp"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

// TestPlans runs the conformance suite, and explains its statements: none with a condition scans a
// table that grows.
func TestPlans(t *testing.T) {
	watch := storetest.NewWatch(scans)
	storetest.RunOwn(t, func(
		t *testing.T,
		place string,
		c clock.Clock,
		committed func([]petcat.RevisedCategory),
	) *store.Store {
		t.Helper()
		s := openAt(t, place, Options{Clock: c})
		s.OnCategoriesCommitted(committed)
		closeAtEnd(t, s.DB)
		return store.New(watch.DB(s.DB), c)
	})
	const (
		small     = "it has few rows"
		generated = "the statement generates its rows"
	)
	watch.WantNoScans(t, map[storetest.Scan]string{
		{Table: "nodes"}:       small,
		{Table: "usage_nodes"}: small,
		{Table: "operators"}:   small,

		{Table: "hours", In: "hours (at) AS"}:  generated,
		{Table: "h", In: "FROM hours AS h"}:    generated,
		{Table: "days", In: "days (at) AS"}:    generated,
		{Table: "d", In: "FROM days AS d"}:     generated,
		{Table: "counted", In: ") AS counted"}: generated,

		{Table: "audit", In: "WHERE at >= $1 ORDER BY sequence"}: "the newest entries, in the order of the log",
		{Table: "bans", In: "ends_at > $1 ORDER BY key_id"}:      "the first bans in force by key, of those of 30 days",
	})
}

// scan matches a step that reads all rows of a table. It does not match SCAN CONSTANT ROW, for example.
var scan = regexp.MustCompile(`^SCAN ([a-z_]+)`)

// scans is the [storetest.Explain] of SQLite.
func scans(q store.Querier, query string, args []any) (scanned []string, err error) {
	err = q.Query(func(row store.Scan) error {
		var id, parent, unused int
		var step string
		err := row(&id, &parent, &unused, &step)
		if m := scan.FindStringSubmatch(step); m != nil {
			scanned = append(scanned, m[1])
		}
		return err
	}, "EXPLAIN QUERY PLAN "+query, args...)
	return scanned, err
}

// TestStatements: SQLite can prepare every statement.
func TestStatements(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	for _, statement := range storetest.Statements(t) {
		prepared, err := s.readers.PrepareContext(t.Context(), s.Dialect().Text(statement.Text))
		if err != nil {
			t.Errorf("%s: %v: %s", statement.At, err, statement.Text)
			continue
		}
		if err := prepared.Close(); err != nil { //nolint:sqlclosecheck // one statement at a time
			t.Error(err)
		}
	}
}
