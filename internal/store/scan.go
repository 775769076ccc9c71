package store

import (
	"crypto/sha256"
	"fmt"
	"time"
)

// Each of what is stored has a function that returns where the columns of its row go: pointers
// to int64, string, bool, []byte and to pointers to them, and these types.

// hash is the destination of a column with a SHA-256. Both methods get the driver's own
// bytes and copy them.
type hash [sha256.Size]byte

// Scan implements [sql.Scanner].
func (h *hash) Scan(value any) error {
	b, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("a hash is of the type %T", value)
	}
	return h.ScanBytes(b)
}

// ScanBytes implements the interface BytesScanner of pgx.
func (h *hash) ScanBytes(b []byte) error {
	if len(b) != len(h) {
		return fmt.Errorf("a hash has %d bytes instead of %d", len(b), len(h))
	}
	copy(h[:], b)
	return nil
}

// moment is the destination of a column with Unix milliseconds. NULL is the zero time.
type moment time.Time

// Scan implements [sql.Scanner].
func (m *moment) Scan(value any) error {
	switch ms := value.(type) {
	case nil:
		*m = moment{}
	case int64:
		*m = moment(time.UnixMilli(ms).UTC())
	default:
		return fmt.Errorf("a time is of the type %T", value)
	}
	return nil
}

// span is the destination of a column with milliseconds.
type span time.Duration

// Scan implements [sql.Scanner].
func (d *span) Scan(value any) error {
	ms, ok := value.(int64)
	if !ok {
		return fmt.Errorf("a duration is of the type %T", value)
	}
	*d = span(time.Duration(ms) * time.Millisecond)
	return nil
}

// oneColumn is for rows of one column.
func oneColumn[T int64 | string](v *T) []any { return []any{v} }
