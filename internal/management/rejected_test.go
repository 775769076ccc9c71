package management_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/web"
)

// TestRejectedPatchHasNoEffect: if one field of a PATCH is rejected, none is applied.
func TestRejectedPatchHasNoEffect(t *testing.T) {
	const aTime = "expires_at must be a time such as"
	for _, tt := range []struct {
		name, path, body string
		code             petcat.Code
		message          string
	}{
		{"a name that is taken", "/accounts/acme", `{"name":"zoo","plan":"pro"}`, "conflict", "zoo"},
		{"a plan that does not exist", "/accounts/acme", `{"name":"lions","plan":"gold"}`, "invalid_field", "plan"},
		{"an expiry that is no time", "/keys/key_1", `{"label":"new","expires_at":"soon"}`, "invalid_field", aTime},
		{"an expiry that is a number", "/keys/key_1", `{"label":"new","expires_at":1}`, "invalid_field", aTime},
		{"an expiry in the past", "/keys/key_1", `{"label":"new","expires_at":"2027-01-01T00:00:00Z"}`, "invalid_field", "future"},
		{"a label that is no text", "/keys/key_1", `{"label":1,"expires_at":null}`, "invalid_field", "label has a value of another kind"},
		{"a member with another name", "/keys/key_1", `{"expires":"2027-01-01T00:00:00Z"}`, "invalid_field", `"expires"`},
		{"a member that cannot be changed", "/keys/key_1", `{"read_only":false}`, "invalid_field", `"read_only"`},
		{"null without a meaning", "/accounts/acme", `{"plan":null}`, "invalid_field", "plan must not be null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t)
			s.create("/accounts", `{"name":"acme","plan":"free"}`)
			s.create("/accounts", `{"name":"zoo","plan":"free"}`)
			s.create("/accounts/acme/keys", `{"label":"old","expires_at":"2028-01-01T00:00:00Z"}`)
			before, entries := string(s.get(tt.path).body), s.audited()
			rejected := s.rejected(web.StatusOf(tt.code), tt.code, http.MethodPatch, tt.path, tt.body)
			if got := decode[errorObject](t, rejected).Message; !strings.Contains(got, tt.message) {
				t.Errorf("the message is %q, want %q in it", got, tt.message)
			}
			wantEqual(t, tt.path, before, string(s.get(tt.path).body))
			if got := s.audited(); got != entries {
				t.Errorf("there are %d audit entries, want %d", got, entries)
			}
		})
	}
}
