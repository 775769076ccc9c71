package store

import (
	"crypto/sha256"
	"fmt"
)

// hash is where a column with a SHA-256 goes. It is copied once: both methods are
// given the row's own bytes.
type hash [sha256.Size]byte

// Scan implements [sql.Scanner].
func (h *hash) Scan(value any) error {
	b, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("a hash is of the type %T", value)
	}
	return h.ScanBytes(b)
}

// ScanBytes is what PostgreSQL's driver calls.
func (h *hash) ScanBytes(b []byte) error {
	if len(b) != len(h) {
		return fmt.Errorf("a hash has %d bytes instead of %d", len(b), len(h))
	}
	copy(h[:], b)
	return nil
}
