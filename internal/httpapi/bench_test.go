package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clock"
	"petcat/internal/datadir"
	"petcat/internal/httpapi"
	"petcat/internal/keyring"
	"petcat/internal/logging"
	"petcat/internal/metrics"
	"petcat/internal/ratelimit"
	"petcat/internal/sqlite"
)

// discard is a ResponseWriter that costs nothing, so that what is measured is
// ours.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkList measures all that a list costs on top of net/http: identify,
// both windows, headers, metrics and the access log's line.
func BenchmarkList(b *testing.B) {
	handler, key := benchService(b)
	r := httptest.NewRequest(http.MethodGet, "/v1/categories", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	benchRequest(b, handler, http.StatusOK, func() *http.Request { return r })
}

func BenchmarkListUnknownKey(b *testing.B) {
	handler, _ := benchService(b)
	r := httptest.NewRequest(http.MethodGet, "/v1/categories", nil)
	r.Header.Set("Authorization", "Bearer pck_live_nonsense")
	benchRequest(b, handler, http.StatusUnauthorized, func() *http.Request { return r })
}

func BenchmarkCreateRefused(b *testing.B) {
	handler, key := benchService(b)
	r := httptest.NewRequest(http.MethodPost, "/v1/categories", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	body := []byte(`{"name":"","description":"everything but the store"}`)
	r.ContentLength = int64(len(body))
	benchRequest(b, handler, http.StatusBadRequest, func() *http.Request {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return r
	})
}

func benchRequest(b *testing.B, handler http.Handler, status int, next func() *http.Request) {
	b.Helper()
	first := httptest.NewRecorder()
	handler.ServeHTTP(first, next())
	if first.Code != status {
		b.Fatalf("status %d, want %d", first.Code, status)
	}
	w := &discard{header: make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		handler.ServeHTTP(w, next())
	}
}

func benchService(b *testing.B) (http.Handler, string) {
	b.Helper()
	system := clock.NewSystem()
	dir, err := datadir.Open(b.TempDir())
	must(b, err)
	store, err := sqlite.Open(b.Context(), sqlite.Options{Dir: dir, Environment: petcat.Production, Clock: system, Serving: true})
	must(b, err)
	b.Cleanup(func() { must(b, store.Close()) })
	limits := ratelimit.NewClock(system)
	limiter := ratelimit.NewMemory(ratelimit.Options{Clock: limits, Days: store})
	b.Cleanup(func() { must(b, limiter.Close(context.WithoutCancel(b.Context()))) })
	m := metrics.New("bench")
	log := logging.New(io.Discard, slog.LevelInfo, logging.JSON)
	b.Cleanup(func() { must(b, log.Close()) })
	list := catalog.New(store.Dataset())
	for i := range 10 {
		name := "a category of some pets"
		fresh, err := petcat.ParseNewCategory(&name, &name)
		must(b, err)
		list.Apply([]petcat.RevisedCategory{{Category: fresh.As(petcat.CategoryID(i + 1)), Revision: petcat.Revision(i + 1)}})
	}
	keys := keyring.New(keyring.Options{
		Environment: petcat.Production, Store: store, Clock: system, MaxAge: 1 << 62,
		CatchUp: func(context.Context) error { return nil },
	})
	key := benchKey(b, store)
	keys.LoadHashes(b.Context())
	handler, err := httpapi.New(httpapi.Options{
		Catalog: list, Store: store, Pets: store, Orders: store, Keyring: keys, Limiter: limiter,
		Failures: ratelimit.NewFailureBucket(limits, 1<<40), Peeks: ratelimit.NewPeekBucket(limits), Clock: system, Logger: log.Logger,
		Observe: func(r *httpapi.Record) {
			m.Request(r.Operation, r.Status, r.Code, r.Admitted, r.Duration)
			log.Access(&logging.Access{
				At: r.At, RequestID: r.RequestID, Method: r.Method, Path: r.Path, Operation: r.Operation, Status: r.Status,
				Code: r.Code, Account: r.Account, Key: r.Key, Address: r.Address, Duration: r.Duration, Bytes: r.Bytes,
			})
		},
	})
	must(b, err)
	return handler, key
}

func benchKey(b *testing.B, store *sqlite.Store) string {
	b.Helper()
	subscription, err := petcat.ParseSubscription("enterprise", petcat.MaxQuota, petcat.MaxQuota)
	must(b, err)
	fresh, err := petcat.ParseNewAccount("bench", subscription)
	must(b, err)
	account, err := store.CreateAccount(b.Context(), "bench", fresh)
	must(b, err)
	generated, err := petcat.GenerateKey(petcat.Production, zeros{})
	must(b, err)
	key, err := petcat.ParseNewKey(account.ID, petcat.KeyTerms{ExpiresAt: noon.AddDate(100, 0, 0)}, noon, generated)
	must(b, err)
	_, err = store.CreateKey(b.Context(), "bench", key)
	must(b, err)
	return generated.Secret.Reveal()
}
