package console

import (
	"context"
	"maps"
	"sync"
	"time"

	"petcat"
	"petcat/internal/clock"
)

// trustedFor is how long a verified session is trusted while the store is unavailable.
const trustedFor = 10 * time.Minute

// sessions is a store that remembers verified sessions. While the real store is unavailable, they
// may read. It is safe for concurrent use.
type sessions struct {
	Store

	clock clock.Clock
	mu    sync.Mutex
	seen  map[petcat.TokenHash]seen // guarded by mu: verified within trustedFor
}

// seen is a verified session.
type seen struct {
	session petcat.Session
	at      time.Time
}

// FindSession implements [petcat.SessionStore].
func (s *sessions) FindSession(ctx context.Context, realm petcat.Realm, token petcat.TokenHash) (petcat.Session, error) {
	found, err := s.Store.FindSession(ctx, realm, token)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Read().Time()
	maps.DeleteFunc(s.seen, func(_ petcat.TokenHash, v seen) bool { return now.Sub(v.at) > trustedFor })
	switch before, known := s.seen[token]; {
	case err == nil:
		s.seen[token] = seen{found, now}
	case petcat.CodeOf(err) != petcat.CodeServiceUnavailable:
		delete(s.seen, token)
	case known && !before.session.Ended(now):
		before.session.Role, before.session.Unverified = petcat.RoleViewer, true
		return before.session, nil
	}
	return found, err
}

// SignOut implements [petcat.SessionStore].
func (s *sessions) SignOut(ctx context.Context, token petcat.TokenHash) error {
	defer s.forget()
	return s.Store.SignOut(ctx, token)
}

// SignOutEverywhere implements [petcat.SessionStore].
func (s *sessions) SignOutEverywhere(
	ctx context.Context, by petcat.Author, of petcat.Subject,
) (petcat.Result[int64], error) {
	defer s.forget()
	return s.Store.SignOutEverywhere(ctx, by, of)
}

// forget makes all sessions untrusted until they are verified again.
func (s *sessions) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seen)
}
