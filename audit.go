package petcat

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// Actor is who changed something: "cli:" and the user's name on the machine for
// the command line, "petcat" for the service itself.
type Actor string

// ServiceActor is the service acting by itself, as when it imposes a ban.
const ServiceActor Actor = "petcat"

// AuditEntry records one management change. Entries are appended in the
// transaction of the change that they describe, and never altered.
type AuditEntry struct {
	Sequence int64 // from 1, without gaps
	At       time.Time
	Actor    Actor
	Action   string // such as "key.revoke"
	Subject  string // such as "key_34"
	Detail   string // a JSON object; never a secret
	// Hash chains the entries: it covers this entry and the hash before it.
	Hash [sha256.Size]byte
}

// Seal returns the hash that e must carry when it follows an entry with the
// hash previous (all zero before the first). Changing, removing or inserting an
// entry breaks every hash after it.
func (e AuditEntry) Seal(previous [sha256.Size]byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(previous[:])
	var number [8]byte
	writeNumber := func(n int64) {
		binary.BigEndian.PutUint64(number[:], uint64(n))
		h.Write(number[:])
	}
	writeNumber(e.Sequence)
	writeNumber(e.At.UnixMilli())
	for _, s := range []string{string(e.Actor), e.Action, e.Subject, e.Detail} {
		writeNumber(int64(len(s)))
		h.Write([]byte(s))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// AuditChain is the end of an audit log; the zero value that of an empty one.
type AuditChain struct {
	Sequence int64
	Hash     [sha256.Size]byte
}

// Append returns e as the entry that follows, with its sequence and hash, and
// moves the end to it.
func (c *AuditChain) Append(e AuditEntry) AuditEntry {
	e.Sequence = c.Sequence + 1
	e.Hash = e.Seal(c.Hash)
	c.Sequence, c.Hash = e.Sequence, e.Hash
	return e
}

// Check returns what is wrong with e as the entry that follows, one sentence for
// each fault, and moves the end to it. What follows an altered entry is judged by
// what that one says, so that one fault is told once.
func (c *AuditChain) Check(e AuditEntry) (faults []string) {
	if e.Sequence != c.Sequence+1 {
		faults = append(faults, fmt.Sprintf("audit entry %d follows %d: what was between them is gone", e.Sequence, c.Sequence))
	}
	if e.Hash != e.Seal(c.Hash) {
		faults = append(faults, fmt.Sprintf("audit entry %d does not carry the hash that it must have: it, or one before it, was altered", e.Sequence))
	}
	c.Sequence, c.Hash = e.Sequence, e.Hash
	return faults
}

// AuditQuery chooses audit entries: those for which all holds. The zero value
// chooses every entry.
type AuditQuery struct {
	Account AccountID // 0: any; otherwise entries about it and about its keys
	Key     KeyID     // 0: any; otherwise entries about it
	Since   time.Time // zero: from the beginning
	Newest  int       // 0: all; otherwise so many of the newest
}

// AuditStore reads the audit entries.
type AuditStore interface {
	// EachAuditEntry calls fn for every entry that q chooses, oldest first, and
	// stops at the first error that fn returns.
	EachAuditEntry(ctx context.Context, q AuditQuery, fn func(AuditEntry) error) error
}
