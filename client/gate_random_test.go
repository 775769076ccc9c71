//go:build go1.26

package petcat_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	petcat "github.com/petcat-api/petcat/client"
)

// TestGateRandom runs random numbers of clients and goroutines on one account, with other
// clients, a slow service, lost responses and 503s. Each create must be carried out once, and clients
// must not send a request before Retry-After, so that keys are never banned for early retries. The seed
// determines the load, the quota and the order of the faults, but not the client's jitter.
func TestGateRandom(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { playRandom(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// turmoil is the faulty transport of one client.
type turmoil struct {
	*service

	mu     sync.Mutex
	random *rand.Rand // guarded by mu
	// rejectedAt is the time of the last 429, and opens the end of its Retry-After. Guarded by mu.
	rejectedAt, opens time.Time
	broken            []string // guarded by mu
}

func playRandom(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	s := newService(int64(10+random.IntN(100)), 1_000_000)
	s.latency = time.Duration(1+random.IntN(300)) * time.Millisecond
	time.Sleep(time.Duration(random.IntN(60_000)) * time.Millisecond)
	var all sync.WaitGroup
	var transports []*turmoil
	total := 0
	for i := range 1 + random.IntN(3) {
		x := &turmoil{service: s, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		transports = append(transports, x)
		c := dial(t, x, petcat.WithRetries(1000))
		n := 1 + random.IntN(150)
		total += n
		all.Go(func() {
			if err := createAll(t.Context(), c, fmt.Sprint("client ", i), n); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	for range random.IntN(5) {
		time.Sleep(time.Duration(random.IntN(40_000)) * time.Millisecond)
		s.use(int64(random.IntN(100)))
	}
	all.Wait()
	wantEachOnce(t, s, total)
	for _, x := range transports {
		if len(x.broken) > 0 {
			t.Errorf("%d broken rules: %s", len(x.broken), strings.Join(x.broken[:1], ""))
		}
	}
}

// RoundTrip sends a request, or injects a fault.
func (x *turmoil) RoundTrip(r *http.Request) (*http.Response, error) {
	x.mu.Lock()
	if now := time.Now(); now.After(x.rejectedAt) && now.Before(x.opens) { // at the same time, it may be on its way
		early := x.opens.Sub(now)
		x.broken = append(x.broken, fmt.Sprintf("a request was sent %s before Retry-After had passed", early))
	}
	what := x.random.IntN(40)
	x.mu.Unlock()
	switch what {
	case 0:
		return nil, errors.New("connection refused")
	case 1:
		_, _ = x.service.RoundTrip(r)
		return nil, io.ErrUnexpectedEOF
	case 2:
		return unavailable(r), nil
	case 3:
		time.Sleep(2 * time.Second)
	}
	res, err := x.service.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusTooManyRequests {
		wait, _ := time.ParseDuration(res.Header.Get("Retry-After") + "s")
		x.mu.Lock()
		x.rejectedAt, x.opens = time.Now(), time.Now().Add(wait)
		x.mu.Unlock()
	}
	return res, err
}

// unavailable is the response of a proxy while the service is down.
func unavailable(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"2"}},
		Body: io.NopCloser(strings.NewReader("<html>away")), Request: r,
	}
}
