package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

// token returns the hash of a token.
func token(seed byte) petcat.TokenHash { return petcat.TokenHash{seed} }

// signInFixture is a store with a subject that can sign in: the operator ada, or account 1.
type signInFixture struct {
	*fixture

	t  *testing.T
	of petcat.Subject
}

func startSignIn(t *testing.T, open Open, realm petcat.Realm) signInFixture {
	t.Helper()
	f := signInFixture{start(t, open), t, petcat.Subject{Operator: "ada"}}
	if realm == petcat.AccountRealm {
		f.of = petcat.Subject{Account: f.account(t, "zoo").ID}
	} else {
		f.operator(t, "ada", "admin", token(255))
	}
	return f
}

func (f signInFixture) link(link petcat.TokenHash) {
	f.t.Helper()
	made := must(f.CreateLink(f.t.Context(), petcat.By(operator), f.of, link)).Value
	wantEqual(f.t, "the link", petcat.Link{Of: f.of, ExpiresAt: f.now().Add(petcat.LinkLife)}, made)
}

func (f signInFixture) wantNoLink(link petcat.TokenHash) {
	f.t.Helper()
	_, err := f.SignIn(f.t.Context(), f.of.Realm(), link, token(254))
	wantCode(f.t, err, petcat.CodeNotFound)
}

// signIn starts a session by a new link.
func (f signInFixture) signIn(seed byte) petcat.Session {
	f.t.Helper()
	f.link(token(seed))
	return must(f.SignIn(f.t.Context(), f.of.Realm(), token(seed), token(seed)))
}

func (f signInFixture) wantSession(session petcat.TokenHash, want petcat.Code) {
	f.t.Helper()
	_, err := f.FindSession(f.t.Context(), f.of.Realm(), session)
	wantCode(f.t, err, want)
}

// inRealms runs a test for an operator and for a customer.
func inRealms(open Open, test func(signInFixture)) func(*testing.T) {
	return func(t *testing.T) {
		for _, realm := range []petcat.Realm{petcat.OperatorRealm, petcat.AccountRealm} {
			t.Run(string(realm), func(t *testing.T) { test(startSignIn(t, open, realm)) })
		}
	}
}

func testSessions(t *testing.T, open Open) {
	t.Run("links work once", inRealms(open, testLinks))
	t.Run("concurrent sign-ins use a link once", inRealms(open, testConcurrentSignIns))
	t.Run("idle sessions end", inRealms(open, testIdleSessions))
	t.Run("signing out ends sessions", inRealms(open, testSignOut))
	t.Run("an operator's new link replaces the old one", func(t *testing.T) {
		f := startSignIn(t, open, petcat.OperatorRealm)
		f.link(token(1))
		f.link(token(2))
		f.wantNoLink(token(1))
		must(f.SignIn(t.Context(), petcat.OperatorRealm, token(2), token(3)))
	})
	t.Run("an account's links are independent", func(t *testing.T) {
		f := startSignIn(t, open, petcat.AccountRealm)
		f.link(token(1))
		f.link(token(2))
		for i := range byte(2) {
			must(f.SignIn(t.Context(), petcat.AccountRealm, token(1+i), token(3+i)))
		}
	})
	t.Run("sessions in use end after a maximum life", inRealms(open, testUsedSessions))
	t.Run("removing an operator ends its sessions", func(t *testing.T) {
		f := startSignIn(t, open, petcat.OperatorRealm)
		f.signIn(1)
		f.link(token(2))
		must(f.RemoveOperator(t.Context(), petcat.By(operator), "ada"))
		f.operator(t, "ada", "admin", token(3)) // a namesake
		f.wantSession(token(1), petcat.CodeNotFound)
		f.wantNoLink(token(2))
		_, err := f.CreateLink(t.Context(), petcat.By(operator), petcat.Subject{Operator: "bob"}, token(4))
		wantCode(t, err, petcat.CodeNotFound)
	})
	t.Run("closing an account ends its sessions", func(t *testing.T) {
		f := startSignIn(t, open, petcat.AccountRealm)
		f.signIn(1)
		f.link(token(2))
		must(f.CloseAccount(t.Context(), petcat.By(operator), f.of.Account))
		f.wantSession(token(1), petcat.CodeNotFound)
		f.wantNoLink(token(2))
		for id, want := range map[petcat.AccountID]petcat.Code{
			f.of.Account: petcat.CodeConflict,
			99:           petcat.CodeNotFound,
		} {
			_, err := f.CreateLink(t.Context(), petcat.By(operator), petcat.Subject{Account: id}, token(3))
			wantCode(t, err, want)
		}
	})
}

func testLinks(f signInFixture) {
	other := petcat.OperatorRealm
	if f.of.Realm() == other {
		other = petcat.AccountRealm
	}
	f.wantNoLink(token(1))
	f.link(token(1))
	_, err := f.SignIn(f.t.Context(), other, token(1), token(2))
	wantCode(f.t, err, petcat.CodeNotFound)
	_, err = f.FindLink(f.t.Context(), other, token(1))
	wantCode(f.t, err, petcat.CodeNotFound)
	of := must(f.FindLink(f.t.Context(), f.of.Realm(), token(1)))
	wantEqual(f.t, "the subject of the link", f.of, of)
	f.clock.Advance(petcat.LinkLife - time.Millisecond)
	begun := must(f.SignIn(f.t.Context(), f.of.Realm(), token(1), token(2)))
	want := petcat.Session{CreatedAt: f.now(), SeenAt: f.now()}
	if f.of.Realm() == petcat.AccountRealm {
		want.Account = must(f.FindAccount(f.t.Context(), f.of.String()))
	} else {
		want.Operator, want.Role = "ada", petcat.RoleAdmin
	}
	wantEqual(f.t, "the session", want, begun)
	found := must(f.another(f.t).FindSession(f.t.Context(), f.of.Realm(), token(2)))
	wantEqual(f.t, "the session in another process", want, found)
	_, err = f.FindSession(f.t.Context(), other, token(2))
	wantCode(f.t, err, petcat.CodeNotFound)
	f.wantNoLink(token(1)) // used
	f.link(token(3))
	f.clock.Advance(petcat.LinkLife)
	f.wantNoLink(token(3))
	f.clean(f.t)
	f.wantSession(token(2), "")

	actor, name, realm := string(f.of.Actor()), f.of.String(), string(f.of.Realm())
	link := "cli:ada " + realm + ".link " + name + " {}"
	signIn := actor + " " + realm + ".sign_in " + name + " {}"
	wantEqual(f.t, "audit entries", []string{link, signIn, link}, f.auditLines(f.t)[1:])
}

func testConcurrentSignIns(f signInFixture) {
	f.link(token(1))
	stores := []*store.Store{f.Store, f.another(f.t)}
	var signedIn atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			_, err := stores[i%2].SignIn(f.t.Context(), f.of.Realm(), token(1), token(byte(10+i)))
			switch {
			case err == nil:
				signedIn.Add(1)
			case petcat.CodeOf(err) != petcat.CodeNotFound:
				f.t.Errorf("sign in: %v", err)
			}
		})
	}
	all.Wait()
	wantEqual(f.t, "sign-ins", int64(1), signedIn.Load())
}

func testIdleSessions(f signInFixture) {
	idle := petcat.SessionIdle
	if f.of.Realm() == petcat.AccountRealm {
		idle = petcat.CustomerIdle
	}
	f.signIn(1)
	f.signIn(2)
	f.clock.Advance(idle - time.Millisecond)
	must(0, f.TouchSession(f.t.Context(), token(1)))
	f.wantSession(token(2), "")
	f.clock.Advance(time.Millisecond)
	f.clean(f.t)
	f.wantSession(token(1), "")
	f.wantSession(token(2), petcat.CodeNotFound)
}

// testUsedSessions: an operator's session expires after a week, a customer's after 90 days.
func testUsedSessions(f signInFixture) {
	life, idle := petcat.SessionLife, petcat.SessionIdle
	if f.of.Realm() == petcat.AccountRealm {
		life, idle = petcat.CustomerLife, petcat.CustomerIdle
	}
	f.signIn(1)
	for range 2 * life / idle {
		f.wantSession(token(1), "")
		must(0, f.TouchSession(f.t.Context(), token(1)))
		f.clock.Advance(idle / 2)
	}
	f.wantSession(token(1), petcat.CodeNotFound)
	if f.of.Realm() == petcat.OperatorRealm {
		wantEqual(f.t, "open sessions", int64(0), f.operators(f.t)[0].Sessions)
	}
}

func testSignOut(f signInFixture) {
	for i := range byte(3) {
		f.signIn(1 + i)
	}
	must(0, f.SignOut(f.t.Context(), token(1)))
	f.wantSession(token(1), petcat.CodeNotFound)
	f.wantSession(token(2), "")
	ended := must(f.SignOutEverywhere(f.t.Context(), petcat.By(f.of.Actor()), f.of)).Value
	wantEqual(f.t, "ended sessions", int64(2), ended)
	f.wantSession(token(2), petcat.CodeNotFound)
	f.wantSession(token(3), petcat.CodeNotFound)
	lines := f.auditLines(f.t)
	last := fmt.Sprintf(`%s %s.sign_out %s {"sessions":2}`, f.of.Actor(), f.of.Realm(), f.of)
	wantEqual(f.t, "the last audit entry", last, lines[len(lines)-1])

	ended = must(f.SignOutEverywhere(f.t.Context(), petcat.By(f.of.Actor()), f.of)).Value
	wantEqual(f.t, "ended sessions of nobody", int64(0), ended)
	wantEqual(f.t, "new audit entries", 0, len(f.auditLines(f.t))-len(lines))

	// A retry does not end sessions that were started since.
	by := petcat.Author{Actor: f.of.Actor(), Key: "k", Request: "sign out"}
	f.signIn(4)
	ended = must(f.SignOutEverywhere(f.t.Context(), by, f.of)).Value
	wantEqual(f.t, "ended sessions", int64(1), ended)
	f.signIn(5)
	retry := must(f.SignOutEverywhere(f.t.Context(), by, f.of))
	wantEqual(f.t, "the retry", petcat.Result[int64]{Value: 1, Replayed: true}, retry)
	f.wantSession(token(5), "")

	f.link(token(6))
	ended = must(f.SignOutEverywhere(f.t.Context(), petcat.By(operator), f.of)).Value
	wantEqual(f.t, "sessions that an operator ended", int64(1), ended)
	f.wantNoLink(token(6))
}
