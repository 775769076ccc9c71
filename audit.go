package petcat

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AuditEntry records one management change. It is appended in the transaction of that
// change, and never altered.
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

// Seal returns the hash of e after an entry with the hash previous, which is all zero for the
// first entry. Changing, removing or inserting an entry invalidates every later hash.
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

// AuditHead is the end of an audit log: the sequence and the hash of its last entry.
// The zero value is the head of an empty log.
type AuditHead struct {
	Sequence int64
	Hash     [sha256.Size]byte
}

// String returns the head in the form "12:HASH", with the hash in hexadecimal.
func (h AuditHead) String() string { return fmt.Sprintf("%d:%x", h.Sequence, h.Hash) }

// ParseAuditHead parses the form of [AuditHead.String]. It returns an [Error] with
// [CodeInvalidField].
func ParseAuditHead(s string) (AuditHead, error) {
	var h AuditHead
	number, text, _ := strings.Cut(s, ":")
	sequence, isNumber := ParseNumber(number)
	hash, err := hex.DecodeString(text)
	if !isNumber || err != nil || len(hash) != len(h.Hash) {
		return AuditHead{}, Errorf(CodeInvalidField,
			"a head looks like 12:9f86d0..., with 64 hexadecimal digits (got %.100q)", s)
	}
	return AuditHead{sequence, [sha256.Size]byte(hash)}, nil
}

// Append returns e with the next sequence and its hash, and moves the head to it.
func (h *AuditHead) Append(e AuditEntry) AuditEntry {
	e.Sequence = h.Sequence + 1
	e.Hash = e.Seal(h.Hash)
	h.Sequence, h.Hash = e.Sequence, e.Hash
	return e
}

// AuditQuery selects the audit entries that meet all its conditions. The zero value selects
// every entry.
type AuditQuery struct {
	Account AccountID // entries about it and its keys; 0: any
	Key     KeyID     // entries about it; 0: any
	Actor   Actor     // "": any
	Since   time.Time // zero: from the beginning
	Before  int64     // only lower sequences; 0: any
	Newest  int       // only the newest n; 0: all
}

// AuditStore reads the audit entries.
type AuditStore interface {
	// EachAuditEntry calls fn for every entry that q selects, oldest first, and
	// stops at the first error that fn returns.
	EachAuditEntry(ctx context.Context, q AuditQuery, fn func(AuditEntry) error) error
	// AuditPage returns the q.Newest newest entries that q selects, newest first.
	AuditPage(ctx context.Context, q AuditQuery) ([]AuditEntry, error)
}

// AuditCheck finds the first entry of an audit log that was altered, removed or moved. Call Add
// with all entries, by sequence ascending. The zero value is ready. Its memory does not grow with
// the log.
type AuditCheck struct {
	head  AuditHead
	kept  []AuditHead // heads that the log must contain
	fault string
}

// Expect adds heads that the log must contain.
func (c *AuditCheck) Expect(kept ...AuditHead) { c.kept = append(c.kept, kept...) }

// Head returns the head of the entries so far.
func (c *AuditCheck) Head() AuditHead { return c.head }

// Add checks the next entry.
func (c *AuditCheck) Add(e AuditEntry) {
	next, head := c.head.Sequence+1, AuditHead{e.Sequence, e.Hash}
	replaced := func(k AuditHead) bool { return k.Sequence == head.Sequence && k != head }
	switch {
	case c.fault != "":
	case e.Sequence < next:
		c.fault = fmt.Sprintf("audit entry %d occurs again after entry %d", e.Sequence, c.head.Sequence)
	case e.Sequence > next:
		c.fault = fmt.Sprintf("audit entry %d is missing: the log continues with entry %d", next, e.Sequence)
	case e.Hash != e.Seal(c.head.Hash):
		c.fault = fmt.Sprintf("audit entry %d does not have the hash that follows from its content and entry %d: "+
			"one of them was altered or moved", next, c.head.Sequence)
	case slices.ContainsFunc(c.kept, replaced):
		c.fault = fmt.Sprintf("audit entry %d does not have the hash of the head that was kept: "+
			"it, or an entry before it, was replaced", next)
	}
	c.head = head
}

// Fault describes the first fault in one sentence; "" if there is none. Call it after the last
// Add.
func (c *AuditCheck) Fault() string {
	for _, k := range c.kept {
		if c.fault == "" && k.Sequence > c.head.Sequence {
			return fmt.Sprintf(
				"audit entry %d is missing: the log ends with entry %d, and the head of entry %d was kept",
				c.head.Sequence+1, c.head.Sequence, k.Sequence)
		}
	}
	return c.fault
}
