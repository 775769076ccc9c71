package management_test

import (
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func TestCreateLink(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	type link struct {
		ExpiresAt time.Time `json:"expires_at"`
		URL       string
	}
	got := decode[link](t, s.create("/accounts/acme/links", ""))
	token, found := strings.CutPrefix(got.URL, "https://api.example.com/account#")
	if _, err := petcat.ParseToken(token); !found || err != nil {
		t.Errorf("the link is %s: %v", got.URL, err)
	}
	wantEqual(t, "expires_at", noon.Add(petcat.LinkLife), got.ExpiresAt)
}

// TestSignOut: an operator ends all sessions of a customer's page.
func TestSignOut(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.create("/accounts", `{"name":"acme","plan":"free"}`)
	of := petcat.Subject{Account: 1}
	for seed := range byte(2) {
		link, session := petcat.TokenHash{1, seed}, petcat.TokenHash{2, seed}
		_, err := s.store.CreateLink(t.Context(), petcat.By(cli), of, link)
		must(t, err)
		_, err = s.store.SignIn(t.Context(), of.Realm(), link, session)
		must(t, err)
	}
	type ended struct {
		Sessions int `json:"ended_sessions"`
	}
	wantEqual(t, "ended", ended{Sessions: 2}, decode[ended](t, s.post("/accounts/acme/sign-out", "")))
	wantEqual(t, "again", ended{}, decode[ended](t, s.post("/accounts/acme/sign-out", "")))
	s.rejected(404, "not_found", "POST", "/accounts/nobody/sign-out", "")
}
