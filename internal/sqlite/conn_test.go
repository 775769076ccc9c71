package sqlite

import "testing"

// TestUnnumbered: only placeholders that stand in the order of their numbers become question marks.
func TestUnnumbered(t *testing.T) {
	for query, want := range map[string]string{
		`SELECT 1`:                          `SELECT 1`,
		`SELECT $1`:                         `SELECT ?`,
		`VALUES ($1, $2), ($3, NULL), ($4)`: `VALUES (?, ?), (?, NULL), (?)`,
		`VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)`: `VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
		`WHERE a = $1 AND b = $2 OR c = $1`:           `WHERE a = $1 AND b = $2 OR c = $1`,
		`WHERE a = $2 AND b = $1`:                     `WHERE a = $2 AND b = $1`,
		`WHERE a = $11`:                               `WHERE a = $11`,
	} {
		if got := unnumbered(query); got != want {
			t.Errorf("%s became %s", query, got)
		}
	}
}
