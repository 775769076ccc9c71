package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"petcat"
	"petcat/internal/httpapi"
)

// stalled is a body that stops half-way: what is left of it does not come before
// the test ends.
type stalled struct {
	arrived io.Reader
	waiting chan<- struct{} // told when the reader waits
	end     <-chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	if n, err := s.arrived.Read(p); err == nil {
		return n, nil
	}
	s.waiting <- struct{}{}
	<-s.end
	return 0, io.ErrUnexpectedEOF
}

// stall sends a create whose body is announced with a size and stops after text.
// It returns when the server waits for more.
func (p *inProcess) stall(t *testing.T, key petcat.GeneratedKey, size int64, text string) (end func()) {
	t.Helper()
	waiting, ended, done := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/categories",
		&stalled{arrived: strings.NewReader(text), waiting: waiting, end: ended})
	r.ContentLength = size
	r.Header.Set("Authorization", "Bearer "+key.Secret.Reveal())
	go func() {
		defer close(done)
		p.handler.ServeHTTP(httptest.NewRecorder(), r)
	}()
	<-waiting
	return func() { close(ended); <-done }
}

// All large bodies together have a bounded room, of which an account gets half.
// Past it they are answered 503, and small ones are served as ever.
func TestBodiesShareABudget(t *testing.T) {
	p := newInProcess(t, func(o *httpapi.Options) { o.BodyBytes = 256 << 10 })
	body := func(n int) string { return `{"name":"x","more":"` + strings.Repeat("y", n) + `"}` }
	create := func(key petcat.GeneratedKey, n int) *answer {
		return p.do(t, http.MethodPost, "/v1/categories", []byte(body(n)), http.Header{"Authorization": {"Bearer " + key.Secret.Reveal()}})
	}
	refused := func(a *answer) {
		t.Helper()
		wantError(t, a, http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
		wantMessage(t, a, "large bodies")
		wantHeader(t, a, "Retry-After", "1")
	}
	refused(create(p.key, 150<<10)) // more than an account's half
	for range 3 {
		wantStatus(t, create(p.key, 100<<10), http.StatusCreated)
		wantStatus(t, create(p.other, 100<<10), http.StatusCreated)
	}

	endOne := p.stall(t, p.key, 110<<10, body(100<<10))
	refused(create(p.key, 50<<10))
	wantStatus(t, create(p.key, 3<<10), http.StatusCreated)
	wantStatus(t, create(p.other, 50<<10), http.StatusCreated)

	endOther := p.stall(t, p.other, 110<<10, body(100<<10))
	refused(create(p.other, 50<<10))
	endOne()
	wantStatus(t, create(p.key, 50<<10), http.StatusCreated)
	refused(create(p.other, 50<<10))
	endOther()
	wantStatus(t, create(p.other, 50<<10), http.StatusCreated)
}
