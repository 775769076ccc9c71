package petcat_test

import (
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func TestKeyState(t *testing.T) {
	past := noon.Add(-time.Hour)
	for _, c := range []struct {
		name string
		key  petcat.Key
		want petcat.KeyState
		code petcat.Code
	}{
		{"new", petcat.Key{}, petcat.KeyActive, ""},
		{"expires soon", petcat.Key{ExpiresAt: noon.Add(1)}, petcat.KeyActive, ""},
		{"expires now", petcat.Key{ExpiresAt: noon}, petcat.KeyExpired, petcat.CodeExpiredAPIKey},
		{"disabled", petcat.Key{DisabledAt: past}, petcat.KeyDisabled, petcat.CodeDisabledAPIKey},
		{
			"disabled and expired", petcat.Key{
				DisabledAt: past,
				ExpiresAt:  past,
			}, petcat.KeyExpired,
			petcat.CodeExpiredAPIKey,
		},
		{"revoked", petcat.Key{RevokedAt: past}, petcat.KeyRevoked, petcat.CodeRevokedAPIKey},
		{
			"revoked, disabled and expired", petcat.Key{
				RevokedAt:  past,
				DisabledAt: past,
				ExpiresAt:  past,
			},
			petcat.KeyRevoked, petcat.CodeRevokedAPIKey,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.key.State(noon); got != c.want {
				t.Errorf("state %s, want %s", got, c.want)
			}
			wantCode(t, c.want.Err(), c.code)
		})
	}
}

func TestNewKey(t *testing.T) {
	generator := petcat.KeyGenerator{Environment: petcat.Production, Random: seeded(1)}
	for _, c := range []struct {
		name  string
		terms petcat.KeyTerms
		code  petcat.Code // of NewKey or Apply
	}{
		{"never expires, no label", petcat.KeyTerms{}, ""},
		{"read-only", petcat.KeyTerms{ReadOnly: true}, ""},
		{"longest label", petcat.KeyTerms{Label: strings.Repeat("é", 200), ExpiresAt: noon.Add(petcat.MinLife)}, ""},
		{"label too long", petcat.KeyTerms{Label: strings.Repeat("é", 201)}, petcat.CodeInvalidField},
		{"label with a line break", petcat.KeyTerms{Label: "a\nb"}, petcat.CodeInvalidField},
		{"label that ends with a space", petcat.KeyTerms{Label: "a "}, petcat.CodeInvalidField},
		{"label with an invisible character", petcat.KeyTerms{Label: "a\u200bb"}, petcat.CodeInvalidField},
		{"expires within a minute", petcat.KeyTerms{ExpiresAt: noon.Add(petcat.MinLife - 1)}, petcat.CodeInvalidField},
		{"expires now", petcat.KeyTerms{ExpiresAt: noon}, petcat.CodeInvalidField},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, secret, err := generator.NewKey(5, c.terms)
			if err != nil {
				wantCode(t, err, c.code)
				return
			}
			got, err := n.Apply(noon)
			wantCode(t, err, c.code)
			want := petcat.Key{
				Account:   5,
				Label:     c.terms.Label,
				Hint:      n.Generated().Hint,
				ReadOnly:  c.terms.ReadOnly,
				CreatedAt: noon,
				ExpiresAt: c.terms.ExpiresAt,
			}
			if got != want || n.Account() != 5 || n.Generated().Hash != petcat.HashKey(secret.Reveal()) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
