package petcat

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
)

// maxAuditDoubts is how many doubtful places of an audit log are kept, to be judged
// together. Further ones are only counted.
const maxAuditDoubts = 20

// AuditCheck finds the entries of an audit log that were altered, removed or reordered. Call
// Add with all entries, by sequence ascending. The zero value is ready. Its memory does not
// grow with the log.
type AuditCheck struct {
	head   AuditHead
	blind  bool        // the hash before the next entry is not known
	kept   []AuditHead // that are still to come, by sequence ascending
	doubts []auditDoubt
	more   int // doubts that were not kept
}

// auditDoubt is a place at which a log does not continue as it should.
type auditDoubt struct {
	sequence int64             // the expected sequence
	previous [sha256.Size]byte // the hash of the entry before
	entry    AuditEntry        // the entry at this place
	fault    string            // "" if it depends on other doubts
}

// Expect makes the check verify a head that was kept.
func (c *AuditCheck) Expect(kept ...AuditHead) {
	c.kept = append(c.kept, kept...)
	slices.SortStableFunc(c.kept, func(a, b AuditHead) int { return cmp.Compare(a.Sequence, b.Sequence) })
}

// StartAt makes the check begin with the entry of a head that was kept, instead of
// the first one.
func (c *AuditCheck) StartAt(head AuditHead) {
	if head.Sequence > 0 {
		c.head, c.blind = AuditHead{Sequence: head.Sequence - 1}, true
		c.Expect(head)
	}
}

// Head returns the head of the entries so far.
func (c *AuditCheck) Head() AuditHead { return c.head }

// Add checks the next entry. The entry after an altered one is checked against the hash in
// the altered one, so that one fault is reported once.
func (c *AuditCheck) Add(e AuditEntry) {
	d := auditDoubt{sequence: c.head.Sequence + 1, previous: c.head.Hash, entry: e}
	switch {
	case e.Sequence < d.sequence:
		d.fault = fmt.Sprintf("audit entry %d comes after entry %d", e.Sequence, c.head.Sequence)
		c.doubt(d)
	case e.Sequence > d.sequence: // and what it must carry is not known
		d.fault = fmt.Sprintf("%s missing: the log continues with entry %d", auditEntries(d.sequence, e.Sequence-1), e.Sequence)
		c.doubt(d)
	case !c.blind && e.Hash != e.Seal(c.head.Hash):
		c.doubt(d)
	}
	c.head, c.blind = AuditHead{e.Sequence, e.Hash}, false
	for ; len(c.kept) > 0 && c.kept[0].Sequence <= e.Sequence; c.kept = c.kept[1:] {
		if k := c.kept[0]; k.Sequence == e.Sequence && k != c.head {
			c.doubt(auditDoubt{fault: fmt.Sprintf("audit entry %d is not the one whose head was kept as %s: it, or one before it, was replaced", e.Sequence, k)})
		}
	}
}

func (c *AuditCheck) doubt(d auditDoubt) {
	if len(c.doubts) == maxAuditDoubts {
		c.more++
		return
	}
	c.doubts = append(c.doubts, d)
}

// Faults returns one sentence for each fault, in the order of the log, and how many more
// there may be. Call it after Add was called with all entries.
func (c *AuditCheck) Faults() (sentences []string, more int) {
	blamed := int64(-1) // the last entry that is not what was written there
	for _, d := range c.doubts {
		if d.fault != "" {
			sentences = append(sentences, d.fault)
			continue
		}
		n := d.entry.Sequence
		switch as := c.writtenAs(d.entry); {
		case as == n && blamed == n-1:
		case as == n:
			sentences = append(sentences, fmt.Sprintf("audit entry %d was not written after the entry %d that is there, which was replaced", n, n-1))
		case as != 0:
			blamed = n
			sentences = append(sentences, fmt.Sprintf("audit entry %d was written as entry %d: entries were reordered", n, as))
		default:
			blamed = n
			sentences = append(sentences, fmt.Sprintf("audit entry %d does not carry the hash that it must have: it was altered, or took the place of another", n))
		}
	}
	if len(c.kept) > 0 {
		last := c.kept[len(c.kept)-1].Sequence
		sentences = append(sentences, fmt.Sprintf("%s missing: the head of entry %d was kept", auditEntries(c.head.Sequence+1, last), last))
	}
	return sentences, c.more
}

// writtenAs returns the sequence with which a doubtful entry fits its hash, if it
// was written before or after another doubtful place; otherwise 0.
func (c *AuditCheck) writtenAs(e AuditEntry) int64 {
	for _, place := range c.doubts { // its own is one of them
		e.Sequence = place.sequence
		for _, p := range c.doubts {
			for _, previous := range [][sha256.Size]byte{p.previous, p.entry.Hash, p.entry.Seal(p.previous)} {
				if e.Hash == e.Seal(previous) {
					return e.Sequence
				}
			}
		}
	}
	return 0
}

// auditEntries names entries, up to their verb.
func auditEntries(first, last int64) string {
	if first == last {
		return fmt.Sprintf("audit entry %d is", first)
	}
	return fmt.Sprintf("audit entries %d to %d are", first, last)
}
