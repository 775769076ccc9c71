package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/storetest"
)

// TestPlans runs the conformance suite, and explains its statements: none with a condition scans a
// table that grows. It also finds statements that no test runs.
func TestPlans(t *testing.T) {
	t.Parallel() // with TestStore
	watch := storetest.NewWatch(scans)
	places := newPlaces()
	storetest.RunShared(t, func(t *testing.T, place string, c clock.Clock) *store.Store {
		s := openAt(t, places.url(t, place), Options{Clock: c})
		closeAtEnd(t, s.DB)
		return store.New(watch.DB(s.DB), c)
	})
	const small = "it has few rows"
	watch.WantNoScans(t, map[storetest.Scan]string{
		{Table: "nodes"}:       small,
		{Table: "usage_nodes"}: small,
		{Table: "operators"}:   small,

		{Table: "plan_request_pending"}:                          "the index has only the pending requests",
		{Table: "audit", In: "WHERE at >= $1 ORDER BY sequence"}: "the newest entries, in the order of the log",
	})
	watch.WantAll(t, new(DB).Dialect())
}

// scans is the [storetest.Explain] of PostgreSQL.
func scans(q store.Querier, query string, args []any) (scanned []string, err error) {
	// PostgreSQL scans small tables, like the suite's, unless scans are off. Joins other than
	// nested loops scan both sides.
	c := q.(store.Conn) // also a read's connection
	for _, method := range []string{"seqscan", "hashjoin", "mergejoin"} {
		if err := c.Run(`SET LOCAL enable_` + method + ` = off`); err != nil {
			return nil, err
		}
	}
	err = q.Query(func(row store.Scan) error {
		var text string
		if err := row(&text); err != nil {
			return err
		}
		var plans []struct{ Plan plan }
		if err := json.Unmarshal([]byte(text), &plans); err != nil {
			return err
		}
		for _, p := range plans {
			scanned = append(scanned, p.Plan.scans()...)
		}
		return nil
	}, `EXPLAIN (FORMAT JSON) `+query, args...)
	return scanned, err
}

// plan is a step of a query plan.
type plan struct {
	Step      string `json:"Node Type"`
	Table     string `json:"Relation Name"` // "" for a scan of an index that makes a bitmap
	Index     string `json:"Index Name"`
	Condition string `json:"Index Cond"`
	Plans     []plan
}

// scans returns the tables, or indexes, that the plan scans.
func (p plan) scans() (scanned []string) {
	if p.Step == "Seq Scan" || p.Index != "" && p.Condition == "" {
		scanned = append(scanned, cmp.Or(p.Table, p.Index))
	}
	for _, step := range p.Plans {
		scanned = append(scanned, step.scans()...)
	}
	return scanned
}

// TestStatements: PostgreSQL can prepare every statement.
func TestStatements(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), server.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for _, s := range storetest.Statements(t) {
		if _, err := conn.Prepare(t.Context(), "", s.Text); err != nil {
			t.Errorf("%s: %v: %s", s.At, err, s.Text)
		}
	}
}
