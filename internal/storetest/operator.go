package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
)

// token makes a token of which nobody needs the secret.
func token(seed byte) petcat.TokenHash { return petcat.TokenHash{seed} }

func (f *fixture) operator(t *testing.T, name, role string, link petcat.TokenHash) petcat.Operator {
	t.Helper()
	o, err := f.CreateOperator(t.Context(), operator, petcat.OperatorName(name), petcat.Role(role), link)
	return must(t, o, err)
}

func (f *fixture) operators(t *testing.T) []petcat.Operator {
	t.Helper()
	return collect(t, func(fn func(petcat.Operator) error) error { return f.EachOperator(t.Context(), fn) })
}

func (f *fixture) signIn(t *testing.T, link, session petcat.TokenHash) petcat.Session {
	t.Helper()
	s, err := f.SignIn(t.Context(), link, session)
	return must(t, s, err)
}

func (f *fixture) wantNoSession(t *testing.T, session petcat.TokenHash) {
	t.Helper()
	_, err := f.FindSession(t.Context(), session)
	wantCode(t, err, petcat.CodeNotFound)
}

func testOperators(t *testing.T, open Open) {
	t.Run("created, listed, removed", func(t *testing.T) {
		f := start(t, open)
		bob := f.operator(t, "bob", "viewer", token(1))
		wantEqual(t, "the answer", petcat.Operator{Name: "bob", Role: petcat.RoleViewer, CreatedAt: noon, LinkEndsAt: noon.Add(petcat.LinkLife)}, bob)
		ada := f.operator(t, "ada", "admin", token(2))
		wantEqual(t, "listed", []petcat.Operator{ada, bob}, f.operators(t))
		_, err := f.CreateOperator(t.Context(), operator, "bob", petcat.RoleAdmin, token(3))
		wantCode(t, err, petcat.CodeInvalidField)

		f.signIn(t, token(1), token(11))
		if err := f.RemoveOperator(t.Context(), operator, "bob"); err != nil {
			t.Fatal(err)
		}
		f.wantNoSession(t, token(11))
		wantEqual(t, "listed", []petcat.Operator{ada}, f.operators(t))
		wantCode(t, f.RemoveOperator(t.Context(), operator, "bob"), petcat.CodeNotFound)
		_, err = f.LinkOperator(t.Context(), operator, "bob", token(4))
		wantCode(t, err, petcat.CodeNotFound)

		wantEqual(t, "audit entries", []string{
			"cli:ada operator.create operator bob {\"role\":\"viewer\"}", "cli:ada operator.create operator ada {\"role\":\"admin\"}",
			"operator bob operator.sign_in operator bob {}", "cli:ada operator.remove operator bob {\"sessions\":1}",
		}, f.auditLines(t))
		wantChain(t, f.audit(t))
	})
	t.Run("a link is used once", func(t *testing.T) { testLinks(t, open) })
	t.Run("a link is used once, by one of many at the same time", func(t *testing.T) { testLinkInParallel(t, open) })
	t.Run("sessions end", func(t *testing.T) { testSessions(t, open) })
}

func (f *fixture) auditLines(t *testing.T) (lines []string) {
	t.Helper()
	for _, e := range f.audit(t) {
		lines = append(lines, string(e.Actor)+" "+e.Action+" "+e.Subject+" "+e.Detail)
	}
	return lines
}

func testLinks(t *testing.T, open Open) {
	f := start(t, open)
	f.operator(t, "ada", "admin", token(1))
	wantNoLink := func(link petcat.TokenHash) {
		t.Helper()
		_, err := f.SignIn(t.Context(), link, token(99))
		wantCode(t, err, petcat.CodeNotFound)
	}
	wantNoLink(token(2))
	f.signIn(t, token(1), token(11))
	wantNoLink(token(1))
	wantEqual(t, "the operator", petcat.Operator{Name: "ada", Role: petcat.RoleAdmin, CreatedAt: noon, Sessions: 1}, f.operators(t)[0])

	must2(t)(f.LinkOperator(t.Context(), operator, "ada", token(3)))
	must2(t)(f.LinkOperator(t.Context(), operator, "ada", token(4))) // in its place
	wantNoLink(token(3))
	f.clock.Advance(petcat.LinkLife - time.Millisecond)
	f.signIn(t, token(4), token(12))
	must2(t)(f.LinkOperator(t.Context(), operator, "ada", token(5)))
	f.clock.Advance(petcat.LinkLife)
	wantNoLink(token(5))
	f.wantNoSession(t, token(99))
	wantEqual(t, "open sessions", int64(2), f.operators(t)[0].Sessions)
}

func testLinkInParallel(t *testing.T, open Open) {
	f := start(t, open)
	f.operator(t, "ada", "admin", token(1))
	stores := []Store{f.Store, f.another(t)}
	var signedIn atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			_, err := stores[i%2].SignIn(t.Context(), token(1), token(byte(10+i)))
			switch {
			case err == nil:
				signedIn.Add(1)
			case petcat.CodeOf(err) != petcat.CodeNotFound:
				t.Errorf("sign in: %v", err)
			}
		})
	}
	all.Wait()
	wantEqual(t, "who signed in", int64(1), signedIn.Load())
}

func testSessions(t *testing.T, open Open) {
	f := start(t, open)
	f.operator(t, "ada", "admin", token(1))
	begun := f.signIn(t, token(1), token(11))
	wantEqual(t, "the session", petcat.Session{Operator: "ada", Role: petcat.RoleAdmin, CreatedAt: noon, SeenAt: noon}, begun)
	f.clock.Advance(petcat.SessionIdle - time.Millisecond)
	found, err := f.another(t).FindSession(t.Context(), token(11))
	wantEqual(t, "what another process finds", begun, must(t, found, err))
	if err := f.TouchSession(t.Context(), token(11)); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(petcat.SessionIdle - time.Millisecond)
	must2(t)(f.FindSession(t.Context(), token(11)))
	f.clock.Advance(time.Millisecond)
	f.wantNoSession(t, token(11))

	for life := f.clock.Read(); f.clock.Read().Since(life) < petcat.SessionLife; f.clock.Advance(petcat.SessionIdle / 2) {
		if f.clock.Read() == life {
			must2(t)(f.LinkOperator(t.Context(), operator, "ada", token(2)))
			f.signIn(t, token(2), token(12))
		}
		must2(t)(f.FindSession(t.Context(), token(12)))
		if err := f.TouchSession(t.Context(), token(12)); err != nil {
			t.Fatal(err)
		}
	}
	f.wantNoSession(t, token(12))
	wantEqual(t, "open sessions", int64(0), f.operators(t)[0].Sessions)

	for i := range byte(3) {
		must2(t)(f.LinkOperator(t.Context(), operator, "ada", token(3+i)))
		f.signIn(t, token(3+i), token(20+i))
	}
	if err := f.SignOut(t.Context(), token(20)); err != nil {
		t.Fatal(err)
	}
	f.wantNoSession(t, token(20))
	must2(t)(f.FindSession(t.Context(), token(21)))
	ended, err := f.SignOutEverywhere(t.Context(), begun.Operator.Actor(), "ada")
	must(t, ended, err)
	f.wantNoSession(t, token(21))
	f.wantNoSession(t, token(22))
	lines := f.auditLines(t)
	wantEqual(t, "the last audit entry", fmt.Sprintf(`operator ada operator.sign_out operator ada {"sessions":%d}`, ended), lines[len(lines)-1])
}

func testTokens(t *testing.T, open Open) {
	f := start(t, open)
	create := func(name string, expiresAt time.Time, hash petcat.TokenHash) (petcat.OperatorToken, error) {
		return f.CreateToken(t.Context(), operator, petcat.OperatorName(name), petcat.RoleViewer, expiresAt, hash)
	}
	end := noon.Add(time.Hour)
	first, err := create("ci", end, token(1))
	wantEqual(t, "the answer", petcat.OperatorToken{ID: 1, Name: "ci", Role: petcat.RoleViewer, CreatedAt: noon, ExpiresAt: end}, must(t, first, err))
	_, err = create("ci", time.Time{}, token(2))
	wantCode(t, err, petcat.CodeInvalidField)
	_, err = create("past", noon, token(2))
	wantCode(t, err, petcat.CodeInvalidField)
	found, err := f.another(t).FindToken(t.Context(), token(1))
	wantEqual(t, "found by its secret", first, must(t, found, err))
	_, err = f.FindToken(t.Context(), token(2))
	wantCode(t, err, petcat.CodeInvalidAPIKey)

	f.clock.Advance(time.Hour)
	second, err := create("ci", time.Time{}, token(3)) // the first has expired
	must(t, second, err)
	revoked, err := f.RevokeToken(t.Context(), operator, "ci")
	second.RevokedAt = f.now()
	wantEqual(t, "the revoked one", second, must(t, revoked, err))
	_, err = f.RevokeToken(t.Context(), operator, "ci")
	wantCode(t, err, petcat.CodeNotFound)
	third, err := create("ci", time.Time{}, token(4))
	must(t, third, err)
	first.RevokedAt = f.now()
	all, err := f.Tokens(t.Context())
	wantEqual(t, "all tokens", []petcat.OperatorToken{first, second, third}, must(t, all, err))
	wantEqual(t, "audit entries", []string{
		`cli:ada token.create token ci {"expires_at":"2027-03-04T13:00:00Z","role":"viewer"}`, `cli:ada token.create token ci {"role":"viewer"}`,
		`cli:ada token.revoke token ci {}`, `cli:ada token.create token ci {"role":"viewer"}`,
	}, f.auditLines(t))
}
