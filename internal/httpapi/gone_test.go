package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/httpapi"
)

// goneCreator is a store whose writes take longer than the client waits.
type goneCreator struct{ httpapi.Store }

func (goneCreator) CreateCategory(ctx context.Context, _ petcat.CreateCategory) (petcat.CreatedCategory, error) {
	late := petcat.Errorf(petcat.CodeServiceUnavailable, "the write took too long")
	return petcat.CreatedCategory{}, late.WithCause(context.Cause(ctx))
}

// TestClientDisconnects: a disconnected client is not a server error.
func TestClientDisconnects(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.Store = goneCreator{} })
	key, _ := s.key(s.account("zoo", petcat.Free))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/categories", strings.NewReader(`{"name":"dog"}`))
	r.Header.Set("Authorization", "Bearer "+key)
	s.handler.ServeHTTP(httptest.NewRecorder(), r)
	if last := s.records[len(s.records)-1]; last.Status != 499 {
		t.Errorf("recorded as %d %s, want 499", last.Status, last.Code)
	}
	if s.log.Len() > 0 {
		t.Errorf("log: %s", s.log)
	}
}

// TestOutageLogLimit: during an outage, the log gets one line per second, not one per request.
func TestOutageLogLimit(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.Store = awayCreator{} })
	key, _ := s.key(s.account("zoo", petcat.Enterprise, 10_000, 10_000))
	for range 100 {
		wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), http.StatusServiceUnavailable)
	}
	s.advance(time.Second)
	wantStatus(t, s.create(`{"name":"dog"}`, withKey(key)), http.StatusServiceUnavailable)
	log := s.log.String()
	if n := strings.Count(log, "\n"); n != 2 || strings.Count(log, "level=WARN") != 2 ||
		strings.Contains(log, "level=ERROR") || !strings.Contains(log, "disk on fire") {
		t.Errorf("%d log lines: %s", n, log)
	}
}

// TestIdempotencyKeyInProgress: a create in progress gets 409 with Retry-After.
func TestIdempotencyKeyInProgress(t *testing.T) {
	s := start(t, func(o *httpapi.Options) { o.Store = busyCreator{} })
	key, _ := s.key(s.account("zoo", petcat.Free))
	a := s.create(`{"name":"dog"}`, withKey(key), withHeader("Idempotency-Key", "k"))
	wantError(t, a, http.StatusConflict, petcat.CodeIdempotencyInProgress)
	wantHeader(t, a, "Retry-After", "1")
}

type busyCreator struct{ httpapi.Store }

func (busyCreator) CreateCategory(context.Context, petcat.CreateCategory) (petcat.CreatedCategory, error) {
	running := petcat.Errorf(petcat.CodeIdempotencyInProgress, "the first request is still running")
	return petcat.CreatedCategory{}, running
}

type awayCreator struct{ httpapi.Store }

func (awayCreator) CreateCategory(context.Context, petcat.CreateCategory) (petcat.CreatedCategory, error) {
	return petcat.CreatedCategory{}, petcat.Errorf(petcat.CodeServiceUnavailable,
		"the database cannot be written now").WithCause(errors.New("disk on fire"))
}
