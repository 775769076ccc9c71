package petcat_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"petcat"
)

func TestAuditSealCoversEverything(t *testing.T) {
	entry := petcat.AuditEntry{Sequence: 2, At: noon, Actor: "cli:ann", Action: "key.revoke", Subject: "key_3", Detail: `{"a":1}`}
	previous := sha256.Sum256([]byte("previous"))
	seals := map[[sha256.Size]byte]string{entry.Seal(previous): "itself"}
	change := func(name string, previous [sha256.Size]byte, f func(*petcat.AuditEntry)) {
		t.Helper()
		e := entry
		f(&e)
		seal := e.Seal(previous)
		if twin, taken := seals[seal]; taken {
			t.Errorf("%s has the same seal as %s", name, twin)
		}
		seals[seal] = name
	}
	change("another entry before it", sha256.Sum256([]byte("other")), func(*petcat.AuditEntry) {})
	change("none before it", [sha256.Size]byte{}, func(*petcat.AuditEntry) {})
	change("another sequence", previous, func(e *petcat.AuditEntry) { e.Sequence++ })
	change("another time", previous, func(e *petcat.AuditEntry) { e.At = e.At.Add(time.Millisecond) })
	change("another actor", previous, func(e *petcat.AuditEntry) { e.Actor = "cli:bob" })
	change("another action", previous, func(e *petcat.AuditEntry) { e.Action = "key.enable" })
	change("another subject", previous, func(e *petcat.AuditEntry) { e.Subject = "key_4" })
	change("another detail", previous, func(e *petcat.AuditEntry) { e.Detail = `{"a":2}` })
	// The same bytes, cut at other places.
	change("text moved from action to actor", previous, func(e *petcat.AuditEntry) { e.Actor, e.Action = "cli:annkey", ".revoke" })
	change("text moved from subject to action", previous, func(e *petcat.AuditEntry) { e.Action, e.Subject = "key.revokekey", "_3" })
}

func TestParseAuditHead(t *testing.T) {
	want := petcat.AuditHead{Sequence: 12, Hash: sha256.Sum256([]byte("12"))}
	digits := fmt.Sprintf("%x", want.Hash)
	for s, valid := range map[string]bool{
		want.String(): true, "12:" + strings.ToUpper(digits): true,
		"": false, "12": false, "12:": false, ":" + digits: false, digits: false, "-12:" + digits: false, "9223372036854775808:" + digits: false,
		"12:" + digits[1:]: false, "12:" + digits + "00": false, "12:" + digits[1:] + "g": false, "12:" + digits + ":": false, " 12:" + digits: false,
	} {
		got, err := petcat.ParseAuditHead(s)
		if valid && (err != nil || got != want) || !valid && (err == nil || got != petcat.AuditHead{}) {
			t.Errorf("%q is read as %s, %v", s, got, err)
		}
	}
}
