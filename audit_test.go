package petcat_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func TestAuditSealCoversAllFields(t *testing.T) {
	entry := petcat.AuditEntry{
		Sequence: 2,
		At:       noon,
		Actor:    "cli:ann",
		Action:   "key.revoke",
		Subject:  "key_3",
		Detail:   `{"a":1}`,
	}
	previous := sha256.Sum256([]byte("previous"))
	seals := map[[sha256.Size]byte]string{entry.Seal(previous): "the original"}
	change := func(name string, previous [sha256.Size]byte, f func(*petcat.AuditEntry)) {
		t.Helper()
		e := entry
		f(&e)
		seal := e.Seal(previous)
		if twin, taken := seals[seal]; taken {
			t.Errorf("%s and %s have the same hash", name, twin)
		}
		seals[seal] = name
	}
	change("another previous entry", sha256.Sum256([]byte("other")), func(*petcat.AuditEntry) {})
	change("no previous entry", [sha256.Size]byte{}, func(*petcat.AuditEntry) {})
	change("another sequence", previous, func(e *petcat.AuditEntry) { e.Sequence++ })
	change("another time", previous, func(e *petcat.AuditEntry) { e.At = e.At.Add(time.Millisecond) })
	change("another actor", previous, func(e *petcat.AuditEntry) { e.Actor = "cli:bob" })
	change("another action", previous, func(e *petcat.AuditEntry) { e.Action = "key.enable" })
	change("another subject", previous, func(e *petcat.AuditEntry) { e.Subject = "key_4" })
	change("another detail", previous, func(e *petcat.AuditEntry) { e.Detail = `{"a":2}` })
	// The same bytes with other boundaries.
	change(
		"text moved from action to actor",
		previous,
		func(e *petcat.AuditEntry) { e.Actor, e.Action = "cli:annkey", ".revoke" },
	)
	change(
		"text moved from subject to action",
		previous,
		func(e *petcat.AuditEntry) { e.Action, e.Subject = "key.revokekey", "_3" },
	)
}

func TestParseAuditHead(t *testing.T) {
	want := petcat.AuditHead{Sequence: 12, Hash: sha256.Sum256([]byte("12"))}
	digits := fmt.Sprintf("%x", want.Hash)
	for s, valid := range map[string]bool{
		want.String(): true, "12:" + strings.ToUpper(digits): true,
		"": false, "12": false, "12:": false, ":" + digits: false, digits: false,
		"-12:" + digits: false, "9223372036854775808:" + digits: false,
		"12:" + digits[1:]: false, "12:" + digits + "00": false, "12:" + digits[1:] + "g": false,
		"12:" + digits + ":": false, " 12:" + digits: false,
	} {
		got, err := petcat.ParseAuditHead(s)
		if valid && (err != nil || got != want) || !valid && (err == nil || got != petcat.AuditHead{}) {
			t.Errorf("ParseAuditHead(%q) = %s, %v", s, got, err)
		}
	}
}

// TestAuditCheck alters a log of ten entries in several ways, and expects the fault to name the
// first broken entry.
func TestAuditCheck(t *testing.T) {
	const altered = "audit entry 5 does not have the hash that follows"
	write := func(log []petcat.AuditEntry, from int) petcat.AuditHead { // recomputes the chain, as an attacker could
		var head petcat.AuditHead
		if from > 0 {
			head = petcat.AuditHead{Sequence: int64(from), Hash: log[from-1].Hash}
		}
		for i := from; i < len(log); i++ {
			log[i] = head.Append(log[i])
		}
		return head
	}
	type entries = []petcat.AuditEntry
	for _, c := range []struct {
		name  string
		alter func(entries) entries
		want  string // the start of the sentence
	}{
		{"unchanged", func(log entries) entries { return log }, ""},
		{"time", func(log entries) entries { log[4].At = log[4].At.Add(time.Millisecond); return log }, altered},
		{"actor", func(log entries) entries { log[4].Actor += "a"; return log }, altered},
		{"action", func(log entries) entries { log[4].Action = "key"; return log }, altered},
		{"subject", func(log entries) entries { log[4].Subject = "key_1"; return log }, altered},
		{"detail", func(log entries) entries { log[4].Detail = " {}"; return log }, altered},
		{"hash", func(log entries) entries { log[4].Hash[31] ^= 1; return log }, altered},
		{
			"entries removed", func(log entries) entries { return slices.Delete(log, 4, 7) },
			"audit entry 5 is missing: the log continues with entry 8",
		},
		{
			"last entries removed", func(log entries) entries { return log[:7] },
			"audit entry 8 is missing: the log ends with entry 7",
		},
		{
			"all entries removed", func(entries) entries { return nil },
			"audit entry 1 is missing: the log ends with entry 0",
		},
		{
			"entry repeated", func(log entries) entries { return slices.Insert(log, 4, log[4]) },
			"audit entry 5 occurs again after entry 5",
		},
		{"entries swapped", func(log entries) entries {
			log[4], log[6] = log[6], log[4]
			log[4].Sequence, log[6].Sequence = 5, 7
			return log
		}, "audit entry 5 does not have the hash that follows"},
		{
			"chain rewritten", func(log entries) entries { log[4].Actor = "cli:bob"; write(log, 4); return log },
			"audit entry 10 does not have the hash of the head",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := slices.Repeat(
				entries{{At: noon, Actor: "cli:ann", Action: "key.revoke", Subject: "key_12", Detail: "{}"}},
				10,
			)
			head := write(log, 0)
			var check petcat.AuditCheck
			check.Expect(head, petcat.AuditHead{})
			for _, e := range c.alter(log) {
				check.Add(e)
			}
			if got := check.Fault(); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("fault %q, want %q", got, c.want)
			}
		})
	}
}
