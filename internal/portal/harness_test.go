package portal

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/pagetest"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a portal; change may replace parts of the options.
func start(t *testing.T, change ...func(*Options)) *pagetest.Service {
	t.Helper()
	s := pagetest.Open(t)
	o := Options{
		Options:  s.Options(),
		Store:    s.Store,
		Limiter:  s.Limiter,
		Holdings: s.List.Holdings,
		Requests: ratelimit.NewBucket[petcat.AccountID](s.Clock, RequestsPerMinute, ratelimit.AllAccounts),
	}
	for _, c := range change {
		c(&o)
	}
	s.Serve(New(o), Path+"/")
	return s
}

// cookie is the name of the session's cookie.
var cookie = pages.CookieName("petcat-account", pagetest.Deployment, false)

// signIn returns a browser in which the customer of an account is signed in.
func signIn(s *pagetest.Service, a petcat.Account) *pagetest.Browser {
	s.T.Helper()
	return s.SignIn(petcat.Subject{Account: a.ID})
}

// find returns a key as it is now.
func find(s *pagetest.Service, id petcat.KeyID) petcat.Key {
	s.T.Helper()
	k, err := s.Store.FindKey(s.T.Context(), id)
	pagetest.Must(s.T, err)
	return k
}
