package management

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/representation"
	"github.com/petcat-api/petcat/internal/web"
)

// call is a request and its response.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	now   time.Time // when the request arrived
	token petcat.OperatorToken
}

func (c *call) ctx() context.Context { return c.r.Context() }

// query returns a parameter of the query, "" if it is absent.
func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// time returns a time of the query, zero if it is absent.
func (c *call) time(name string) (time.Time, error) {
	text := c.query(name)
	if text == "" {
		return time.Time{}, nil
	}
	before := func(ago time.Duration) time.Time { return c.now.Add(-ago) }
	t, err := config.ParseTime(text, before)
	if err != nil {
		return time.Time{}, petcat.Errorf(petcat.CodeInvalidField, "%s %v", name, err).In(name)
	}
	return t, nil
}

// parseID parses a numeric id.
func parseID(text string) (int64, error) {
	id, isID := petcat.ParseID(text)
	if !isID {
		return 0, petcat.Errorf(petcat.CodeInvalidField, "an id here is a number from 1, without leading zeros")
	}
	return id, nil
}

// author returns who makes a change, with the Idempotency-Key that was sent. body is the decoded
// body, nil if the operation has none: another body with the same key is another request.
func (c *call) author(body any) (petcat.Author, error) {
	key, err := web.IdempotencyKey(c.r.Header)
	if err != nil || key == "" {
		return petcat.By(c.token.Actor()), err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return petcat.Author{}, err
	}
	return petcat.Author{
		Actor:   c.token.Actor(),
		Key:     key,
		Request: c.r.URL.Path + " " + string(text),
	}, nil
}

// replayed marks the response to a change that an earlier request has made.
func (c *call) replayed(replayed bool) {
	if replayed {
		c.w.Header().Set("Idempotent-Replayed", "true")
	}
}

// ok sends 200 with a domain value or a record.
func (c *call) ok(value any) error { return c.send(http.StatusOK, value) }

// created sends 201 with a new resource, whose path is below base.
func (c *call) created(path string, value any) error {
	c.w.Header().Set("Location", base+path)
	return c.send(http.StatusCreated, value)
}

// okAll sends 200 with a list.
func okAll[T any](c *call, entries []T) error {
	return c.send(http.StatusOK, recordsOf(c, entries))
}

// recordsOf returns the records of domain values.
func recordsOf[T any](c *call, entries []T) []any {
	all := make([]any, len(entries))
	for i, entry := range entries {
		all[i] = representation.Of(entry, c.now)
	}
	return all
}

// send sends a status and a value as JSON.
func (c *call) send(status int, value any) error {
	body, err := json.Marshal(representation.Of(value, c.now), json.Deterministic(true))
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // the client may be gone
	return nil
}

// sendError sends an error, and logs it if it is a failure of the service. It does neither if the client has left.
func (a *API) sendError(c *call, err error) {
	public := petcat.Public(err)
	if web.IsGone(c.r, err) && web.StatusOf(public.Code) >= http.StatusInternalServerError {
		c.w.WriteHeader(web.StatusGone)
		return
	}
	a.logRejected(c, public.Code)
	attrs := []any{"route", web.Route(c.r), "error", err}
	switch public.Code {
	case petcat.CodeInternalError:
		public = public.After(max(public.RetryAfter, time.Second))
		a.Logger.ErrorContext(c.ctx(), "management request failed", attrs...)
	case petcat.CodeServiceUnavailable:
		public = public.After(max(public.RetryAfter, time.Second))
		if a.outageLines.Allow(a.Clock.Read().Mono) {
			a.Logger.WarnContext(c.ctx(), "service unavailable", attrs...)
		}
	default:
	}
	web.WriteError(c.w, public)
}
