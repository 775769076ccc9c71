package management_test

import "testing"

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
