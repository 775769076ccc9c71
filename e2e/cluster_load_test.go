package e2e

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
)

// tally is what became of the requests of several accounts, by account and by
// the end of the window that each answer names.
type tally struct {
	t testing.TB

	mu         sync.Mutex
	windows    map[string]map[int64]*window // by key, then by X-RateLimit-Reset; guarded by mu
	took       []time.Duration              // of those that were answered; guarded by mu
	unanswered map[string]int               // by key; guarded by mu
}

func newTally(t testing.TB) *tally {
	t.Helper()
	return &tally{t: t, windows: make(map[string]map[int64]*window), unanswered: make(map[string]int)}
}

// ask sends a list to a node and notes what comes of it. Anything but success
// and a spent quota is an error.
func (y *tally) ask(s *server, key string) {
	begin := time.Now()
	a, err := s.tryList(key)
	if err != nil {
		y.t.Errorf("no answer: %v", err)
		return
	}
	y.note(key, a, time.Since(begin))
}

func (y *tally) note(key string, a *answer, took time.Duration) {
	end := a.number(y.t, "X-RateLimit-Reset")
	y.mu.Lock()
	defer y.mu.Unlock()
	y.took = append(y.took, took)
	if y.windows[key] == nil {
		y.windows[key] = make(map[int64]*window)
	}
	w := y.windows[key][end]
	if w == nil {
		w = &window{}
		y.windows[key][end] = w
	}
	switch {
	case a.StatusCode == http.StatusOK:
		w.admitted++
	case a.code() == petcat.CodeRateLimitExceeded, a.code() == petcat.CodeDailyQuotaExceeded:
		w.refused++
	default:
		y.t.Errorf("%d %.300s", a.StatusCode, a.body)
	}
}

// lap returns how long the answers took that came since the last lap.
func (y *tally) lap() (took []time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	took, y.took = y.took, nil
	return took
}

// admitted returns how many requests with a key were admitted in all.
func (y *tally) admitted(key string) (count int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, w := range y.windows[key] {
		count += w.admitted
	}
	return count
}

// eachMinute calls fn for every window of a key.
func (y *tally) eachMinute(key string, fn func(end int64, w window)) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for end, w := range y.windows[key] {
		fn(end, *w)
	}
}

// spread says which node gets the i-th request of a burst.
type spread func(i, nodes int) int

// even gives each node as many as the others.
func even(i, nodes int) int { return i % nodes }

// skewed gives the first node nine in ten.
func skewed(i, nodes int) int {
	if i%10 != 0 {
		return 0
	}
	return i / 10 % nodes
}

// burst is requests that are sent at once.
type burst struct {
	nodes   []*server
	keys    []string
	each    int // requests for each key
	clients int
	spread  spread
	pause   time.Duration // of a client between an answer and the next request
	begins  func()        // is called directly before the first request, unless nil
}

// send sends a burst as fast as it is answered, and has the answers checked after it.
func (b burst) send(ask func(s *server, key string)) {
	for _, s := range b.nodes {
		defer s.client.Transport.(*checked).Postpone()()
	}
	if b.begins != nil {
		b.begins()
	}
	var next atomic.Int64
	var clients sync.WaitGroup
	for range b.clients {
		clients.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.each*len(b.keys) {
					return
				}
				ask(b.nodes[b.spread(i/len(b.keys), len(b.nodes))], b.keys[i%len(b.keys)])
				lapse(b.pause)
			}
		})
	}
	clients.Wait()
}

// stream lets clients do something again and again, with a pause between any
// two, until stop is called, which waits for them.
func stream(clients int, pause time.Duration, do func(random *rand.Rand)) (stop func()) {
	end := make(chan struct{})
	var all sync.WaitGroup
	for i := range clients {
		random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(i)))
		all.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				select {
				case <-end:
					return
				case <-tick.C:
					do(random)
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(end)
		all.Wait()
	})
}
