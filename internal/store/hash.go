package store

import (
	"crypto/sha256"
	"fmt"
)

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
