package management_test

import (
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

// TestListAudit: the audit log is listed in pages, the newest entry first.
func TestListAudit(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	s.remove("/accounts/acme")
	type entry struct {
		Sequence int64
		Actor    string
		Action   string
		Subject  string
	}
	first := s.get("/audit?limit=2")
	want := []entry{
		{3, "token ci", "account.close", "acct_1"},
		{2, "token ci", "account.create", "acct_1"},
	}
	wantEqual(t, "the first page", want, decode[[]entry](t, first))
	wantEqual(t, "Link", `</admin/v1/audit?after=2&limit=2>; rel="next"`, first.header.Get("Link"))
	next := decode[[]entry](t, s.get("/audit?limit=2&after=2"))
	wantEqual(t, "the next page", []entry{{1, string(cli), "token.create", "token ci"}}, next)
	for _, after := range []string{"01", "%2B1", "x"} {
		s.rejected(400, "invalid_field", "GET", "/audit?after="+after, "")
	}
}

// TestFilterAudit: the audit log is filtered by actor, account, key and time.
func TestFilterAudit(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.create("/accounts", `{"name":"zoo","plan":"free"}`)
	s.clock.Advance(time.Hour)
	s.post("/keys/key_1/disable", "")
	for query, want := range map[string][]string{
		"actor=cli:test":            {"token.create"},
		"account=acme":              {"key.disable", "key.create", "account.create"},
		"account=acct_2":            {"account.create"},
		"key=key_1":                 {"key.disable", "key.create"},
		"since=30m":                 {"key.disable"},
		"key=key_1&actor=cli:test":  {},
		"account=acme&limit=1":      {"key.disable"},
		"account=acme&after=5":      {"key.create", "account.create"},
		"actor=token%20ci&since=1m": {"key.disable"},
	} {
		actions := []string{}
		for _, e := range decode[[]struct{ Action string }](t, s.get("/audit?"+query)) {
			actions = append(actions, e.Action)
		}
		wantEqual(t, query, want, actions)
	}
	for _, wrong := range []string{"key=1", "since=tomorrow"} {
		s.rejected(400, "invalid_field", "GET", "/audit?"+wrong, "")
	}
	s.rejected(404, "not_found", "GET", "/audit?account=lions", "")
}

// TestVerifyAudit: a check returns the log's head, and detects a head that the log lacks.
func TestVerifyAudit(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	type report struct {
		Entries  int
		Head     string
		Findings []string
	}
	first := decode[report](t, s.get("/audit/verify"))
	wantEqual(t, "entries", 3, first.Entries)
	wantEqual(t, "findings", []string{}, first.Findings)
	s.remove("/accounts/acme")
	kept := decode[report](t, s.get("/audit/verify?head="+first.Head))
	wantEqual(t, "findings with an earlier head", []string{}, kept.Findings)
	missing := petcat.AuditHead{Sequence: 9}
	lost := decode[report](t, s.get("/audit/verify?head="+first.Head+"&head="+missing.String()))
	if len(lost.Findings) != 1 || !strings.Contains(lost.Findings[0], "the head of entry 9 was kept") {
		t.Errorf("findings: %q", lost.Findings)
	}
	s.rejected(400, "invalid_field", "GET", "/audit/verify?head=x", "")
}
