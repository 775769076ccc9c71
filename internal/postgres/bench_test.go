package postgres

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"petcat"
	"petcat/internal/pgtest"
	"petcat/internal/storetest"
)

// benchServer is a server of its own, with the durability that is measured.
func benchServer(b *testing.B) string {
	b.Helper()
	return pgtest.New(b, pgtest.Options{}).Database(b)
}

// BenchmarkBareInsert is the yardstick of BenchmarkCreateCategory: a loop that
// inserts groups of as many rows as there are writers there, and nothing else.
func BenchmarkBareInsert(b *testing.B) {
	const table = `CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, description text)`
	const insert = `INSERT INTO bare (name, description) SELECT name, description FROM unnest($1::text[], $2::text[]) AS t (name, description) RETURNING id`
	for _, group := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("group=%d", group), func(b *testing.B) {
			conn, err := pgx.Connect(b.Context(), benchServer(b))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.Close(b.Context()) }()
			if _, err := conn.Exec(b.Context(), table); err != nil {
				b.Fatal(err)
			}
			names := slices.Repeat([]string{"Dogs"}, group)
			descriptions := slices.Repeat([]string{storetest.BenchDescription}, group)
			for n := 0; b.Loop(); n++ {
				if n%group != 0 {
					continue
				}
				rows, err := conn.Query(b.Context(), insert, names, descriptions)
				if err != nil {
					b.Fatal(err)
				}
				if ids, err := pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil || len(ids) != group {
					b.Fatalf("%d ids, %v", len(ids), err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
		})
	}
}

func BenchmarkCreateCategory(b *testing.B) {
	storetest.BenchmarkCreates(b, func(b *testing.B) storetest.Store {
		b.Helper()
		s := openAt(b, benchServer(b), Options{})
		b.Cleanup(func() { closeNow(b, s) })
		return s
	})
}

func BenchmarkEachCategory(b *testing.B) {
	const rows = 1_000_000
	url := benchServer(b)
	s := openAt(b, url, Options{})
	defer closeNow(b, s)
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(b.Context()) }()
	const fill = `INSERT INTO category (id, name, description, revision, account_id, created_at)
		SELECT n, 'Dogs', $2, n, 1, 0 FROM generate_series(1, $1::int8) AS n`
	if _, err := conn.Exec(b.Context(), fill, rows, storetest.BenchDescription); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		n := 0
		err := s.EachCategory(b.Context(), func(petcat.RevisedCategory) error { n++; return nil })
		if err != nil || n != rows {
			b.Fatalf("read %d: %v", n, err)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkNothingNew is a list's freshness query when nobody created anything.
func BenchmarkNothingNew(b *testing.B) {
	s := openAt(b, benchServer(b), Options{})
	defer closeNow(b, s)
	create(b, s, "Dogs")
	after, err := s.CategoriesSince(b.Context(), 0, func(petcat.RevisedCategory) error { return nil })
	for err == nil && b.Loop() {
		_, err = s.CategoriesSince(b.Context(), after, func(petcat.RevisedCategory) error { return nil })
	}
	if err != nil {
		b.Fatal(err)
	}
}
