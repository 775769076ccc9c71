package storetest

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func (f *fixture) operator(t *testing.T, name, role string, link petcat.TokenHash) petcat.Operator {
	t.Helper()
	by := petcat.By(operator)
	created, err := f.CreateOperator(t.Context(), by, petcat.OperatorName(name), petcat.Role(role), link)
	return must(created, err).Value
}

func (f *fixture) operators(t *testing.T) []petcat.Operator {
	t.Helper()
	return must(f.Operators(t.Context()))
}

func (f *fixture) auditLines(t *testing.T) (lines []string) {
	t.Helper()
	for _, e := range f.audit(t) {
		lines = append(lines, string(e.Actor)+" "+e.Action+" "+e.Subject+" "+e.Detail)
	}
	return lines
}

func testOperators(t *testing.T, open Open) {
	f := start(t, open)
	bob := f.operator(t, "bob", "viewer", token(1))
	wantEqual(t, "the created operator", petcat.Operator{
		Name:          "bob",
		Role:          petcat.RoleViewer,
		CreatedAt:     noon,
		LinkExpiresAt: noon.Add(petcat.LinkLife),
	}, bob)
	ada := f.operator(t, "ada", "admin", token(2))
	wantEqual(t, "all operators", []petcat.Operator{ada, bob}, f.operators(t))
	_, err := f.CreateOperator(t.Context(), petcat.By(operator), "bob", petcat.RoleAdmin, token(3))
	wantCode(t, err, petcat.CodeConflict)

	must(f.SignIn(t.Context(), petcat.OperatorRealm, token(1), token(11)))
	bob.LinkExpiresAt, bob.Sessions = time.Time{}, 1
	wantEqual(t, "all operators", []petcat.Operator{ada, bob}, f.operators(t))
	removed := must(f.RemoveOperator(t.Context(), petcat.By(operator), "bob")).Value
	wantEqual(t, "the removed operator", "bob", removed)
	wantEqual(t, "all operators", []petcat.Operator{ada}, f.operators(t))
	_, err = f.RemoveOperator(t.Context(), petcat.By(operator), "bob")
	wantCode(t, err, petcat.CodeNotFound)

	wantEqual(t, "audit entries", []string{
		`cli:ada operator.create operator bob {"role":"viewer"}`,
		`cli:ada operator.create operator ada {"role":"admin"}`,
		`operator bob operator.sign_in operator bob {}`,
		`cli:ada operator.remove operator bob {"sessions":1}`,
	}, f.auditLines(t))
	wantChain(t, f.audit(t))

	cleo := f.operator(t, "cleo", "viewer", petcat.TokenHash{}) // without a link
	wantEqual(t, "the end of an absent link", time.Time{}, cleo.LinkExpiresAt)
	_, err = f.FindLink(t.Context(), petcat.OperatorRealm, petcat.TokenHash{})
	wantCode(t, err, petcat.CodeNotFound)
}

func testTokens(t *testing.T, open Open) {
	f := start(t, open)
	create := func(name string, expiresAt time.Time, hash petcat.TokenHash) (petcat.OperatorToken, error) {
		return value(f.CreateToken(t.Context(), petcat.By(operator), petcat.NewToken{
			Name: petcat.OperatorName(name), Role: petcat.RoleViewer, ExpiresAt: expiresAt, Hash: hash, Hint: "7kQz",
		}))
	}
	end := noon.Add(time.Hour)
	first := must(create("ci", end, token(1)))
	wantEqual(t, "the result", petcat.OperatorToken{
		ID:        1,
		Name:      "ci",
		Role:      petcat.RoleViewer,
		Hint:      "7kQz",
		CreatedAt: noon,
		ExpiresAt: end,
	}, first)
	_, err := create("ci", time.Time{}, token(2))
	wantCode(t, err, petcat.CodeConflict)
	_, err = create("past", noon, token(2))
	wantCode(t, err, petcat.CodeInvalidField)
	found := must(f.another(t).FindToken(t.Context(), token(1)))
	wantEqual(t, "found by its secret", first, found)
	_, err = f.FindToken(t.Context(), token(2))
	wantCode(t, err, petcat.CodeInvalidToken)

	f.clock.Advance(time.Minute)
	if err := f.TouchToken(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	first.UsedAt = f.now()
	leaked := must(f.FindTokens(t.Context(), []petcat.TokenHash{token(2), token(1)}))
	wantEqual(t, "found by their secrets", []petcat.OperatorToken{first}, leaked)

	f.clock.Advance(time.Hour)
	second := must(create("ci", time.Time{}, token(3))) // the first has expired
	revoked := must(f.RevokeToken(t.Context(), petcat.By(operator), "ci")).Value
	second.RevokedAt = f.now()
	wantEqual(t, "the revoked token", second, revoked)
	_, err = f.RevokeToken(t.Context(), petcat.By(operator), "ci")
	wantCode(t, err, petcat.CodeNotFound)
	third := must(create("ci", time.Time{}, token(4)))
	first.RevokedAt = f.now()
	all := must(f.Tokens(t.Context()))
	wantEqual(t, "all tokens", []petcat.OperatorToken{first, second, third}, all)
	wantEqual(t, "audit entries", []string{
		`cli:ada token.create token ci {"expires_at":"2027-03-04T13:00:00Z","role":"viewer"}`,
		`cli:ada token.create token ci {"role":"viewer"}`,
		`cli:ada token.revoke token ci {}`,
		`cli:ada token.create token ci {"role":"viewer"}`,
	}, f.auditLines(t))
}
