package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
)

// guess returns a well-formed key that nobody has.
func guess(t testing.TB) string {
	t.Helper()
	g, err := petcat.GenerateKey(petcat.Production, rand.Reader)
	must(t, err)
	return g.Secret.Reveal()
}

// guessing sends well-formed keys that nobody has from 1,000 addresses, so many a
// second, until the returned function is called. That returns how many there were,
// by status.
func (s *server) guessing(perSecond int) (stop func() map[int]int) {
	const workers = 50
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}, Timeout: 10 * time.Second}
	ctx, cancel := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := make(map[int]int)
	var sent atomic.Uint32
	for range workers {
		all.Go(func() {
			ticker := time.NewTicker(workers * time.Second / time.Duration(perSecond))
			defer ticker.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.api+"/v1/categories", nil)
				if err != nil {
					s.t.Error(err)
					return
				}
				n := sent.Add(1) % 1000
				r.Header.Set("Authorization", "Bearer "+guess(s.t))
				r.Header.Set("X-Forwarded-For", fmt.Sprintf("192.0.%d.%d", n/250, n%250))
				res, err := client.Do(r)
				if err != nil {
					s.t.Errorf("a guess: %v", err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				mu.Lock()
				statuses[res.StatusCode]++
				mu.Unlock()
			}
		})
	}
	return func() map[int]int {
		cancel()
		all.Wait()
		client.CloseIdleConnections()
		return statuses
	}
}

// Guesses at keys cost the store next to nothing, and hold up nobody who comes
// with a key for the first time, be it one that was made a moment ago.
func TestGuessesAreNotLookedUp(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "zoo", unlimited...)
	var keys []string
	for range 20 {
		_, key := issueKey(t, data, "zoo")
		keys = append(keys, key)
	}
	s := serve(t, data, "--trusted-proxies", "127.0.0.1")
	s.ask("/readyz") // a connection
	stop := s.guessing(5000)
	var slowest time.Duration
	comes := func(key string) {
		s.control().Lap()
		began := time.Now()
		wantStatus(t, s.list(key), http.StatusOK)
		took := time.Since(began)
		s.control().Judge("the first request of a key", took, 250*time.Millisecond)
		slowest = max(slowest, took)
		lapse(50 * time.Millisecond)
	}
	for i, key := range keys {
		comes(key)
		if i%4 == 0 {
			_, made := issueKey(t, data, "zoo")
			keys = append(keys, made)
			comes(made)
		}
	}
	statuses := stop()
	lookups := s.metric("petcat_keyring_lookups_total")
	t.Logf("guesses by status: %v; %v keys looked up; the slowest first request of a key took %s", statuses, lookups, slowest)
	if len(statuses) != 1 || statuses[http.StatusUnauthorized] < 2000 {
		t.Errorf("guesses by status: %v; want 401 only, of some thousands", statuses)
	}
	if lookups != float64(len(keys)) {
		t.Errorf("%v keys were looked up; want the %d that exist", lookups, len(keys))
	}
	s.mustStop()
	for _, bad := range []string{`"status":5`, `"level":"ERROR"`, `"level":"WARN"`} {
		if log := s.log.String(); strings.Contains(log, bad) {
			t.Errorf("the log holds %s: %.1000s", bad, s.log.events())
		}
	}
}

// Guesses that are given up at once count as such, and as nothing else.
func TestGuessesThatAreReset(t *testing.T) {
	dir := t.TempDir()
	s := serveTLS(t, dir)
	s.trusting(filepath.Join(dir, "cert.pem"), "h2")
	before := s.metric(`petcat_refused_total{reason="invalid_api_key"}`)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 50 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(worker*50+i)*20*time.Microsecond)
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.api+"/v1/categories", nil)
				if err != nil {
					t.Error(err)
				}
				r.Header.Set("Authorization", "Bearer "+guess(t))
				if res, err := s.client.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				cancel()
			}
		})
	}
	all.Wait()
	counted := s.metric(`petcat_refused_total{reason="invalid_api_key"}`) - before
	t.Logf("%v of 400 counted", counted)
	if counted == 0 {
		t.Error("no guess counted")
	}
	s.mustStop()
	for _, bad := range []string{`"status":5`, `"status":499`, `"level":"ERROR"`, `"level":"WARN"`} {
		if log := s.log.String(); strings.Contains(log, bad) {
			t.Errorf("the log holds %s: %.1000s", bad, s.log.events())
		}
	}
}
