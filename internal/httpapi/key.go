package httpapi

import (
	"net/http"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/web"
)

// keyJSON is a key in JSON. Times are in seconds since the Unix epoch.
type keyJSON struct {
	ID        string   `json:"id"`
	Label     string   `json:"label"`
	ReadOnly  bool     `json:"read_only"`
	ExpiresAt *int64   `json:"expires_at"` // nil if it does not expire
	Networks  []string `json:"networks"`   // none: it works everywhere
}

func keyOf(k petcat.Key) keyJSON {
	return keyJSON{
		ID:        k.ID.String(),
		Label:     k.Label,
		ReadOnly:  k.ReadOnly,
		ExpiresAt: secondsOf(k.ExpiresAt),
		Networks:  k.Networks.List(),
	}
}

// secondsOf returns a time in JSON, nil if it is zero.
func secondsOf(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.Unix())
}

// rotatedJSON is the result of a rotation: the new key, and until when the old one works.
type rotatedJSON struct {
	keyJSON

	Key           string `json:"key,omitzero"` // "" in a replay, because only its hash is stored
	Replaces      string `json:"replaces"`
	ReplacedUntil *int64 `json:"replaced_until"`
}

// getKey handles GET /key.
func (s *Server) getKey(e *exchange) error {
	key, err := s.options.Store.FindKey(e.r.Context(), e.caller.Key)
	if err != nil {
		return err
	}
	d, err := s.options.Limiter.Peek(e.r.Context(), e.charge())
	if err != nil {
		return err
	}
	s.setLimits(e, d)
	e.sendJSON(http.StatusOK, marshal(keyOf(key)))
	return nil
}

// rotateKey handles POST /key/rotate.
func (s *Server) rotateKey(e *exchange, body []byte) error {
	overlap, err := decodeOverlap(body)
	if err != nil {
		return err
	}
	rotation, secret, err := s.options.Keys.OwnRotation(e.caller.Key, overlap)
	if err != nil {
		return err
	}
	by, err := e.author(overlap.String())
	if err != nil {
		return err
	}
	rotated, err := s.options.Store.RotateKey(e.r.Context(), by, rotation)
	if petcat.CodeOf(err) == petcat.CodeTooManyChanges {
		e.setChangesSpent(petcat.Public(err).RetryAfter)
	}
	if err != nil {
		return err
	}
	response := rotatedJSON{
		keyJSON:       keyOf(rotated.Value.New),
		Replaces:      rotated.Value.Old.ID.String(),
		ReplacedUntil: secondsOf(rotated.Value.Old.ExpiresAt),
	}
	if !rotated.Replayed {
		response.Key = secret.Reveal()
	}
	e.setReplayed(rotated.Replayed)
	e.sendJSON(http.StatusCreated, marshal(response))
	return nil
}

// decodeOverlap returns the overlap in the body of a rotation, which may be empty.
func decodeOverlap(body []byte) (time.Duration, error) {
	text := ""
	if len(body) > 0 {
		m := readMembers(body)
		if sent := m.text("overlap", m.Overlap); sent != nil {
			text = *sent
		}
		if m.err != nil {
			return 0, m.err
		}
	}
	return config.ParseOverlap(text)
}

// revokeKey handles POST /key/revoke.
func (s *Server) revokeKey(e *exchange) error {
	by, err := e.author("")
	if err != nil {
		return err
	}
	revoked, err := s.options.Store.ChangeKey(e.r.Context(), by, e.caller.Key, petcat.RevokeKey)
	if err != nil {
		return err
	}
	e.setReplayed(revoked.Replayed)
	e.sendJSON(http.StatusOK, marshal(keyOf(revoked.Value)))
	return nil
}

// author returns the account's customer as the author of a change to the request's key.
func (e *exchange) author(request string) (petcat.Author, error) {
	key, err := web.IdempotencyKey(e.r.Header)
	return petcat.Author{
		Actor:   e.caller.Account.Actor(),
		Key:     key,
		Request: e.caller.Key.String() + " " + request,
	}, err
}

// setChangesSpent sets the rate-limit headers to the change limit, which is currently used up.
func (e *exchange) setChangesSpent(wait time.Duration) {
	now := e.server.options.Clock.Read().Wall
	end := (now + int64(wait) + int64(time.Second) - 1) / int64(time.Second)
	spent := ratelimit.WindowState{
		Limit: petcat.MaxCustomerChanges,
		Used:  petcat.MaxCustomerChanges,
		Reset: end,
	}
	p := e.server.changesPolicy
	e.setHeaders(p.minute, spent, p, appendState(nil, p.window, spent, now), now)
	e.retryAfter = end - now/int64(time.Second)
	e.ownLimits = true
	delete(e.Header(), "X-Stability") // which 429s do not have
}

// setReplayed marks the response to a change that an earlier request has made.
func (e *exchange) setReplayed(replayed bool) {
	if replayed {
		e.set("Idempotent-Replayed", "true")
	}
}
