package management_test

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

// ban is a ban as the API shows it.
type ban struct {
	Key          string
	Account      string
	State        string
	EarlyRetries int    `json:"early_retries"`
	LiftedBy     string `json:"lifted_by"`
}

func TestBans(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.create("/accounts/acme/keys", `{}`)
	must(t, s.store.SaveBan(t.Context(), petcat.Ban{
		Key:          2,
		Account:      1,
		Level:        1,
		StartedAt:    noon,
		EndsAt:       noon.Add(time.Minute),
		EarlyRetries: 101,
	}))
	want := ban{Key: "key_2", Account: "acct_1", State: "active", EarlyRetries: 101}
	wantEqual(t, "bans", []ban{want}, decode[[]ban](t, s.get("/bans")))
	wantEqual(t, "the ban", want, decode[ban](t, s.get("/bans/key_2")))
	wantEqual(t, "bans after key_2", []ban{}, decode[[]ban](t, s.get("/bans?after=key_2")))
	first := s.get("/bans?limit=1").header.Get("Link")
	wantEqual(t, "Link", `</admin/v1/bans?after=key_2&limit=1>; rel="next"`, first)

	want.State, want.LiftedBy = "lifted", "token ci"
	wantEqual(t, "the lifted ban", want, decode[ban](t, s.remove("/bans/key_2")))
	wantEqual(t, "bans in force", []ban{}, decode[[]ban](t, s.get("/bans")))
	wantEqual(t, "all bans", []ban{want}, decode[[]ban](t, s.get("/bans?state=all")))
	s.rejected(400, "invalid_field", "GET", "/bans?state=lifted", "")
	wantEqual(t, "the last ban", want, decode[ban](t, s.get("/bans/key_2")))

	s.rejected(404, "not_found", "DELETE", "/bans/key_2", "") // lifted already
	for _, path := range []string{"/bans/key_1", "/bans/key_3"} {
		s.rejected(404, "not_found", "GET", path, "")
	}
	s.rejected(400, "invalid_field", "GET", "/bans/key_01", "")
}
