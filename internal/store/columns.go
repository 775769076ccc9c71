package store

import (
	"crypto/sha256"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/petcat-api/petcat/internal/clock"
)

// Now returns the wall-clock time in whole milliseconds, the precision of stored times.
func Now(c clock.Clock) time.Time { return c.Read().Time().Truncate(time.Millisecond) }

// stored returns a time in UTC and whole milliseconds, the precision of stored times.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// millis returns a time in Unix milliseconds, nil for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// hash is a column with a SHA-256.
type hash [sha256.Size]byte

// Scan implements [sql.Scanner].
func (h *hash) Scan(value any) error {
	b, _ := value.([]byte)
	if copy(h[:], b) != len(h) || len(b) != len(h) {
		return fmt.Errorf("a column with a hash has the type %T and %d bytes", value, len(b))
	}
	return nil
}

// Value implements [driver.Valuer].
func (h hash) Value() (driver.Value, error) { return h[:], nil }

// moment is a column with a time in Unix milliseconds. NULL is the zero time.
type moment time.Time

func (m moment) time() time.Time { return time.Time(m) }

// Scan implements [sql.Scanner].
func (m *moment) Scan(value any) error {
	*m = moment{}
	if ms, ok := value.(int64); ok {
		*m = moment(time.UnixMilli(ms).UTC())
	} else if value != nil {
		return fmt.Errorf("a column with a time has the type %T", value)
	}
	return nil
}

// Value implements [driver.Valuer].
func (m moment) Value() (driver.Value, error) { return millis(m.time()), nil }
