package store

import "testing"

// TestWidened: a statement for several rows has the placeholders of all rows, and keeps its end.
func TestWidened(t *testing.T) {
	const one = `
		INSERT INTO uses AS u (id, at, note, count) VALUES ($1, $2, NULL, $3)
		ON CONFLICT (id) DO UPDATE SET at = excluded.at, count = u.count + excluded.count`
	for rows, want := range map[int]string{
		1: one,
		4: `
		INSERT INTO uses AS u (id, at, note, count) VALUES ` +
			`($1, $2, NULL, $3), ($4, $5, NULL, $6), ($7, $8, NULL, $9), ($10, $11, NULL, $12)
		ON CONFLICT (id) DO UPDATE SET at = excluded.at, count = u.count + excluded.count`,
	} {
		if got := widened(one, rows); got != want {
			t.Errorf("%d rows: %s", rows, got)
		}
	}
}

// inserted is a Conn that notes the arguments of statements with one column.
type inserted struct {
	Conn

	rows       []any
	statements int
}

// Run implements [Conn].
func (c *inserted) Run(_ string, args ...any) error {
	c.statements++
	c.rows = append(c.rows, args...)
	return nil
}

// TestInsertMany: all rows are inserted once, in order, by few statements.
func TestInsertMany(t *testing.T) {
	for count, statements := range map[int]int{0: 0, 1: 1, 7: 7, 8: 1, 64: 1, 147: 2 + 2 + 3} {
		var rows [][]any
		for i := range count {
			rows = append(rows, []any{i})
		}
		c := &inserted{}
		if err := insertMany(c, `INSERT INTO numbers (number) VALUES ($1)`, rows); err != nil {
			t.Fatal(err)
		}
		for i, row := range c.rows {
			if row != i {
				t.Errorf("of %d rows, number %d is %v", count, i, row)
			}
		}
		if len(c.rows) != count || c.statements != statements {
			t.Errorf("%d of %d rows in %d statements, want %d", len(c.rows), count, c.statements, statements)
		}
	}
}
