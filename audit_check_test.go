package petcat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat"
)

// auditLog returns a log of n entries, and its head.
func auditLog(n int) (log []petcat.AuditEntry, head petcat.AuditHead) {
	for i := range n {
		log = append(log, head.Append(petcat.AuditEntry{
			At: noon.Add(time.Duration(i) * time.Second), Actor: "cli:ann", Action: "key.revoke", Subject: fmt.Sprint("key_", i+1), Detail: "{}",
		}))
	}
	return log, head
}

// auditFaults returns what a check finds in a log. A store returns it by sequence.
func auditFaults(check petcat.AuditCheck, log []petcat.AuditEntry) []string {
	slices.SortStableFunc(log, func(a, b petcat.AuditEntry) int { return int(a.Sequence - b.Sequence) })
	for _, e := range log {
		check.Add(e)
	}
	sentences, more := check.Faults()
	if more > 0 {
		sentences = append(sentences, fmt.Sprint("more: ", more))
	}
	return sentences
}

// swap exchanges two entries.
func swap(log []petcat.AuditEntry, a, b int) {
	log[a-1], log[b-1] = log[b-1], log[a-1]
	log[a-1].Sequence, log[b-1].Sequence = int64(a), int64(b)
}

// rewrite computes the hashes again from an entry on, as somebody who knows the rule can.
func rewrite(log []petcat.AuditEntry, from int) {
	head := petcat.AuditHead{}
	if from > 1 {
		head = petcat.AuditHead{Sequence: int64(from - 1), Hash: log[from-2].Hash}
	}
	for i := from - 1; i < len(log); i++ {
		log[i] = head.Append(log[i])
	}
}

// TestAuditCheckSeesWhatAltersMoreThanOneEntry; FuzzAuditCheck alters one.
func TestAuditCheckSeesWhatAltersMoreThanOneEntry(t *testing.T) {
	const altered = "audit entry %d does not carry the hash that it must have: it was altered, or took the place of another"
	_, head := auditLog(10)
	replaced := "audit entry 10 is not the one whose head was kept as " + head.String() + ": it, or one before it, was replaced"
	for _, c := range []struct {
		name  string
		alter func(log []petcat.AuditEntry) []petcat.AuditEntry
		kept  []petcat.AuditHead
		want  []string
	}{
		{"nothing", func(log []petcat.AuditEntry) []petcat.AuditEntry { return log }, []petcat.AuditHead{head, {}, head}, nil},
		{"no entries", func([]petcat.AuditEntry) []petcat.AuditEntry { return nil }, nil, nil},
		{
			"some are missing", func(log []petcat.AuditEntry) []petcat.AuditEntry { return slices.Delete(log, 4, 7) }, nil,
			[]string{"audit entries 5 to 7 are missing: the log continues with entry 8"},
		},
		{
			"the last ones are missing", func(log []petcat.AuditEntry) []petcat.AuditEntry { return log[:7] },
			[]petcat.AuditHead{head},
			[]string{"audit entries 8 to 10 are missing: the head of entry 10 was kept"},
		},
		{
			"all are missing", func([]petcat.AuditEntry) []petcat.AuditEntry { return nil },
			[]petcat.AuditHead{head},
			[]string{"audit entries 1 to 10 are missing: the head of entry 10 was kept"},
		},
		{"one was removed, and the others renumbered", func(log []petcat.AuditEntry) []petcat.AuditEntry {
			log = slices.Delete(log, 7, 8)
			log[7].Sequence, log[8].Sequence = 8, 9
			return log
		}, nil, []string{fmt.Sprintf(altered, 8), fmt.Sprintf(altered, 9)}},
		{"it was rewritten", func(log []petcat.AuditEntry) []petcat.AuditEntry {
			log[4].Actor = "cli:bob"
			rewrite(log, 5)
			return log
		}, []petcat.AuditHead{head}, []string{replaced}},
		{"one was replaced, and is there in another place", func(log []petcat.AuditEntry) []petcat.AuditEntry {
			fork := slices.Clone(log)
			fork[4].Actor = "cli:bob"
			rewrite(fork, 5)
			log[4].Sequence = 11
			return append(log, fork[4])
		}, nil, []string{"audit entry 6 was not written after the entry 5 that is there, which was replaced", fmt.Sprintf(altered, 11)}},
		{
			"an entry comes twice", func(log []petcat.AuditEntry) []petcat.AuditEntry { return slices.Insert(log, 4, log[4]) }, nil,
			[]string{"audit entry 5 comes after entry 5"},
		},
		{"more entries than are named", func(log []petcat.AuditEntry) []petcat.AuditEntry {
			log = slices.Concat(log, log, log) // as long a log
			for i := range log {
				log[i].Sequence = int64(i + 1)
				log[i].Hash = [32]byte{byte(i)}
			}
			return log
		}, nil, append(func() (all []string) {
			for n := range 20 {
				all = append(all, fmt.Sprintf(altered, n+1))
			}
			return all
		}(), "more: 10")},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, _ := auditLog(10)
			var check petcat.AuditCheck
			check.Expect(c.kept...)
			if diff := cmp.Diff(c.want, auditFaults(check, c.alter(log))); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzAuditCheck alters one thing in a log: it is found, and the entry is named.
func FuzzAuditCheck(f *testing.F) {
	for kind := range byte(9) {
		f.Add(uint8(8), kind, uint8(2), uint8(5))
		f.Add(uint8(1), kind, uint8(6), uint8(6))
	}
	f.Fuzz(func(t *testing.T, length, kind, at, other uint8) {
		if length == 0 {
			return
		}
		log, head := auditLog(int(length))
		n := int(at)%len(log) + 1
		e := &log[n-1]
		want := fmt.Sprintf("audit entry %d does not carry the hash ", n)
		switch kind % 9 {
		case 0:
			e.At = e.At.Add(time.Duration(int(other)-300) * time.Millisecond)
		case 1:
			e.Actor += petcat.Actor(rune('a' + other))
		case 2:
			e.Action = e.Action[:int(other)%len(e.Action)]
		case 3:
			e.Subject = e.Subject[:int(other)%len(e.Subject)]
		case 4:
			e.Detail = strings.Repeat(" ", int(other)+1) + e.Detail
		case 5:
			e.Hash[other%32] ^= other | 1
		case 6:
			log = slices.Delete(log, n-1, n)
			want = fmt.Sprintf("audit entry %d is missing: ", n)
		case 7:
			m := int(other)%len(log) + 1
			if n == m {
				return
			}
			swap(log, n, m)
			want = fmt.Sprintf("audit entry %d was written as entry %d: ", min(n, m), max(n, m))
		case 8: // to the end
			e.Sequence = int64(len(log)) + 1
			want = fmt.Sprintf("audit entry %d is missing: ", n)
			if n == len(log) { // there is nothing after it
				want = fmt.Sprintf("audit entry %d is missing: the log continues with entry %d", n, n+1)
			}
		}
		var check petcat.AuditCheck
		check.Expect(head)
		faults := auditFaults(check, log)
		if len(faults) == 0 || !strings.HasPrefix(faults[0], want) {
			t.Errorf("of %d entries, %d was altered (%d, %d): %q, want %s...", length, n, kind%9, other, faults, want)
		}
	})
}
