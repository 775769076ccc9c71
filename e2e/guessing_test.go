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
	"petcat/internal/stalltest"
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
// by status, and how long they took.
func (s *server) guessing(perSecond int) (stop func() (statuses map[int]int, lasted time.Duration)) {
	const workers = 50
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}, Timeout: 10 * time.Second}
	ctx, cancel := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := make(map[int]int)
	var sent atomic.Uint32
	begun := time.Now()
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
	return func() (map[int]int, time.Duration) {
		cancel()
		lasted := time.Since(begun)
		all.Wait()
		client.CloseIdleConnections()
		return statuses, lasted
	}
}

// Guesses at keys, 5,000 a second, cost the store next to nothing, and hold up nobody who
// comes with a key for the first time, be it one that was made a moment ago. A machine that
// cannot send so many beside the server has no processor to spare, which makes it harder
// for those who come: half as many will do.
func TestGuessesAreNotLookedUp(t *testing.T) {
	const perSecond = 5000
	data := filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "zoo", unlimited...)
	s := serve(t, data, "--trusted-proxies", "127.0.0.1")
	seen := 0 // keys
	stalltest.Start(t).Try("guesses", func() (late string) {
		statuses, keys, slowest, lasted := s.guessed(perSecond)
		seen += keys
		rate := float64(statuses[http.StatusUnauthorized]) / lasted.Seconds()
		t.Logf("guesses by status: %v, %.0f a second; the slowest first request of a key took %s", statuses, rate, slowest)
		if len(statuses) != 1 {
			t.Errorf("guesses by status: %v; want 401 only", statuses)
		}
		if rate < perSecond/2 {
			return fmt.Sprintf("%.0f a second, want %d at least", rate, perSecond/2)
		}
		return ""
	})
	if lookups := s.metric("petcat_keyring_lookups_total"); lookups != float64(seen) {
		t.Errorf("%v keys were looked up; want the %d that exist", lookups, seen)
	}
	s.mustStop()
	for _, bad := range []string{`"status":5`, `"level":"ERROR"`, `"level":"WARN"`} {
		if log := s.log.String(); strings.Contains(log, bad) {
			t.Errorf("the log holds %s: %.1000s", bad, s.log.events())
		}
	}
}

// guessed lets others guess while keys come for the first time, 20 of them that were made
// before, and some that are made meanwhile. It returns the guesses by status, how many keys
// there were and how long the slowest waited, and how long all of it lasted.
func (s *server) guessed(perSecond int) (statuses map[int]int, count int, slowest, lasted time.Duration) {
	s.t.Helper()
	keys := make([]string, 20)
	for i := range keys {
		_, keys[i] = issueKey(s.t, s.data, "zoo")
	}
	comes := func(key string) {
		s.control().Lap()
		began := time.Now()
		wantStatus(s.t, s.list(key), http.StatusOK)
		took := time.Since(began)
		s.control().Judge("the first request of a key", took, 250*time.Millisecond)
		slowest = max(slowest, took)
		count++
		lapse(50 * time.Millisecond)
	}
	s.ask("/readyz") // a connection
	stop := s.guessing(perSecond)
	for i, key := range keys {
		comes(key)
		if i%4 == 0 {
			_, made := issueKey(s.t, s.data, "zoo")
			comes(made)
		}
	}
	statuses, lasted = stop()
	return statuses, count, slowest, lasted
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
