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
