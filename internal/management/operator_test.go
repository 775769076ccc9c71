package management_test

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

// operator is an operator as the API shows it.
type operator struct {
	Name          string
	Role          string
	Sessions      int
	LinkExpiresAt *time.Time `json:"link_expires_at"`
}

// addOperator adds the operator ada, with a link.
func (s *service) addOperator() {
	s.t.Helper()
	_, err := s.store.CreateOperator(s.t.Context(), petcat.By(cli), "ada", petcat.RoleAdmin, petcat.TokenHash{1})
	must(s.t, err)
}

// TestOperators: operators are created without a link, listed by name, and removed.
func TestOperators(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.addOperator()
	bob := operator{Name: "bob", Role: "viewer"}
	wantEqual(t, "the new operator", bob, decode[operator](t, s.create("/operators", `{"name":"bob","role":"viewer"}`)))
	wantEqual(t, "the audit entry", "token ci operator.create operator bob", s.lastAudited())
	ada := operator{Name: "ada", Role: "admin", LinkExpiresAt: new(noon.Add(petcat.LinkLife))}
	wantEqual(t, "the operators", []operator{ada, bob}, decode[[]operator](t, s.get("/operators")))
	s.rejected(409, "conflict", "POST", "/operators", `{"name":"bob","role":"admin"}`)
	for _, wrong := range []string{
		`{"name":"Bob","role":"viewer"}`,
		`{"name":"eve","role":"root"}`,
		`{"name":"eve"}`,
		`{}`,
	} {
		s.rejected(400, "invalid_field", "POST", "/operators", wrong)
	}

	s.want(204, "DELETE", "/operators/bob", "")
	wantEqual(t, "the audit entry", "token ci operator.remove operator bob", s.lastAudited())
	s.clock.Advance(petcat.LinkLife)
	ada.LinkExpiresAt = nil
	wantEqual(t, "the operators", []operator{ada}, decode[[]operator](t, s.get("/operators")))
	s.rejected(404, "not_found", "DELETE", "/operators/bob", "")
	s.rejected(400, "invalid_field", "DELETE", "/operators/Bob", "")
}
