package console

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/backup"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/pages"
	"github.com/petcat-api/petcat/internal/pagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is the console on a real store.
type service struct {
	*pagetest.Service

	history *History
	totals  Totals // of the responses so far
	status  string
	parts   []Part
}

// awaySessions are sessions whose store can be unavailable.
type awaySessions struct {
	pages.Sessions

	away bool
}

func (s *awaySessions) FindSession(
	ctx context.Context, realm petcat.Realm, session petcat.TokenHash,
) (petcat.Session, error) {
	if s.away {
		return petcat.Session{}, petcat.Errorf(petcat.CodeServiceUnavailable, "the database does not respond")
	}
	return s.Sessions.FindSession(ctx, realm, session)
}

// start starts a console; change may replace parts of the options.
func start(t *testing.T, change ...func(*Options)) *service {
	t.Helper()
	s := &service{
		Service: pagetest.Open(t),
		history: NewHistory(pagetest.Noon, bounds()),
		totals:  newTotals(),
		status:  "ready",
		parts:   []Part{{Name: "store"}, {Name: "limiter"}},
	}
	o := Options{
		Options: s.Options(),
		Store:   s.Store,
		List:    s.List,
		Limiter: s.Limiter,
		Version: "1.2.3",
		Node:    "N1",
		History: s.history,
		Status:  func() string { return s.status },
		Parts:   func() []Part { return s.parts },
		Nodes: func() []petcat.Node {
			return []petcat.Node{{ID: "N1", Label: "web", Version: "1.2.3", State: "ready", Since: pagetest.Noon}}
		},
		LastBackup: func(context.Context) (any, error) {
			return backup.Made{TakenAt: pagetest.Noon, File: "/backups/petcat-1", Size: 1_500_000}, nil
		},
		CustomerLink: func(token petcat.Secret) string {
			return "https://api.example.com/account#" + token.Reveal()
		},
		URL:      "https://console.example.com",
		Settings: []config.Value{{Flag: "--bans", Environment: "PETCAT_BANS", Value: "shadow", Origin: "flag --bans"}},
		OwnName:  func(host string) bool { return host == "127.0.0.1" || host == "console.example.com" },
	}
	for _, c := range change {
		c(&o)
	}
	s.Serve(New(o), base)
	return s
}

// bounds returns the upper bounds of three duration buckets.
func bounds() []time.Duration {
	return []time.Duration{time.Millisecond, 2500 * time.Microsecond, 50 * time.Millisecond}
}

// newTotals returns totals of 0.
func newTotals() Totals {
	return Totals{
		Statuses:  make(map[int]int64),
		Reasons:   make(map[petcat.Code]int64),
		Durations: make([]int64, len(bounds())+1),
	}
}

// count counts responses, n of them. code is "" unless they are rejections.
func (t *Totals) count(n int64, status int, code petcat.Code, took time.Duration) {
	t.Statuses[status] += n
	if code != "" {
		t.Reasons[code] += n
	}
	bucket, _ := slices.BinarySearch(bounds(), took)
	t.Durations[bucket] += n
}

// clone returns the totals as they are now.
func (t *Totals) clone() Totals {
	return Totals{
		Statuses:  maps.Clone(t.Statuses),
		Reasons:   maps.Clone(t.Reasons),
		Durations: slices.Clone(t.Durations),
	}
}

// link creates an operator, or another link for one, and returns the link's token.
func (s *service) link(name petcat.OperatorName, role petcat.Role) string {
	s.T.Helper()
	token, err := petcat.GenerateToken(rand.Reader)
	pagetest.Must(s.T, err)
	_, err = s.Store.CreateOperator(s.T.Context(), petcat.By(pagetest.CLI), name, role, token.Hash)
	if petcat.CodeOf(err) == petcat.CodeConflict {
		return s.Link(petcat.Subject{Operator: name})
	}
	pagetest.Must(s.T, err)
	return token.Secret.Reveal()
}

// signIn returns a browser in which an operator is signed in.
func (s *service) signIn(name petcat.OperatorName, role petcat.Role) *pagetest.Browser {
	s.T.Helper()
	b := s.Browser()
	b.Post("sign-in", "token", s.link(name, role)).WantGoesTo("")
	return b
}

func (s *service) admin() *pagetest.Browser  { s.T.Helper(); return s.signIn("ada", petcat.RoleAdmin) }
func (s *service) viewer() *pagetest.Browser { s.T.Helper(); return s.signIn("bob", petcat.RoleViewer) }
