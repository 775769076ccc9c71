package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
	"petcat/internal/stalltest"
)

// outage is a cluster under load that loses its PostgreSQL again and again, or a node.
type outage struct {
	*cluster
	key     string
	plain   *http.Client
	ledger  *ledger
	random  *rand.Rand
	writers []*torturer
	// doomed is the node that is lost: it alone may refuse a create, or not answer it. nil:
	// PostgreSQL is lost, and each node answers and may refuse.
	doomed *server

	unavailable atomic.Int64 // creates that were answered with 503
	unanswered  atomic.Int64 // creates that were not answered
	replayed    atomic.Int64 // creates that had been carried out before
	back        []time.Duration
}

// TestClusterDatabaseKills: whatever was answered with 201 is there after
// PostgreSQL was killed, and a create that is repeated with its idempotency key,
// on whichever node, is there once.
func TestClusterDatabaseKills(t *testing.T) {
	kills := often(t, 5, 50)
	x := newOutage(t, 8)
	for i := range kills {
		if i%5 == 4 {
			x.round(x.postgres.Stop) // in order, as for an upgrade
		} else {
			x.round(x.postgres.Kill)
		}
		if v := x.ledger.verdict(); v != (verdict{}) {
			t.Fatalf("after %d kills: %s", i+1, v)
		}
	}
	acked, maybe := x.ledger.acknowledged()
	t.Logf("%d kills of PostgreSQL, %d creates acknowledged, %d answered with 503, %d of them never repeated: %s; writable again on all nodes after %s (median), %s (slowest)",
		kills, acked, x.unavailable.Load(), maybe, x.ledger.verdict(),
		percentile(x.back, 50).Round(time.Millisecond), percentile(x.back, 100).Round(time.Millisecond))
	if acked < 10*kills || x.unavailable.Load() < int64(kills) {
		t.Error("this was no load")
	}
	x.mustStop()
}

func newOutage(t *testing.T, writers int, flags ...string) *outage {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	x := &outage{cluster: newClusterApart(t), plain: newListClient(t), ledger: newLedger(), random: rand.New(rand.NewPCG(seed, 0))}
	x.start(3, flags...)
	x.key = x.newCaller()
	for i := range writers {
		x.writers = append(x.writers, &torturer{number: i})
	}
	x.remember(x.key)
	if stalltest.Race { // the counters may be late, and until then a node has no share of the minute
		lapse(5 * time.Second)
		nextMinute()
	}
	return x
}

// round lets all clients create while PostgreSQL goes and comes back.
func (x *outage) round(lose func()) {
	x.t.Helper()
	stop := x.load()
	lapse(time.Duration(50+x.random.IntN(300)) * time.Millisecond)
	lose()
	x.wantUnavailable()
	lapse(time.Duration(x.random.IntN(300)) * time.Millisecond)
	must(x.t, x.postgres.Start(x.t.Context()))
	x.wantBack()
	stop()
	x.settle()
}

// settle repeats what is to be repeated until it is answered, and holds what every node then
// shows against what the clients know.
func (x *outage) settle() {
	x.t.Helper()
	for i := 0; !x.settled(); i++ {
		if i == 500 {
			x.t.Fatal("creates with idempotency keys are not answered")
		}
		for _, w := range x.writers {
			x.createOne(w)
		}
	}
	for _, s := range x.nodes {
		a, list := s.longList(x.plain, x.key)
		if a.StatusCode != http.StatusOK || a.Header.Get("Age") != "" {
			x.t.Errorf("after all is well again: %d, age %q", a.StatusCode, a.Header.Get("Age"))
		}
		x.ledger.check(list)
	}
}

// load lets all writers create until stop is called.
func (x *outage) load() (stop func()) {
	end := make(chan struct{})
	var all sync.WaitGroup
	for _, w := range x.writers {
		all.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if !x.createOne(w) {
					lapse(10 * time.Millisecond) // the least that a client waits
				}
			}
		})
	}
	return func() {
		close(end)
		all.Wait()
	}
}

// settled reports whether no create is left that is to be repeated.
func (x *outage) settled() bool {
	for _, w := range x.writers {
		if w.name != "" {
			return false
		}
	}
	return true
}

// createOne creates one category on some node, and reports whether it was
// created. Clients with an even number use idempotency keys, and repeat what was
// not answered with 201, on another node as like as not.
func (x *outage) createOne(w *torturer) bool {
	if w.name == "" {
		w.sent++
		w.name, w.idempotency = fmt.Sprintf("%d-%d", w.number, w.sent), ""
		if w.number%2 == 0 {
			w.idempotency = "outage-" + w.name
		}
		x.ledger.send(w.name)
	}
	changes := []request{withKey(x.key)}
	if w.idempotency != "" {
		changes = append(changes, withHeader("Idempotency-Key", w.idempotency))
	}
	s := x.nodes[(w.number+w.sent)%len(x.nodes)]
	if w.idempotency != "" {
		s = x.nodes[rand.IntN(len(x.nodes))]
	}
	a, err := s.try(http.MethodPost, s.api+"/v1/categories", strings.NewReader(categoryBody(w.name)), changes...)
	switch {
	case err != nil && s == x.doomed:
		x.unanswered.Add(1)
	case err != nil:
		x.t.Errorf("%s was not answered: %v", w.name, err)
	case a.StatusCode == http.StatusCreated:
		var c category
		if err := json.Unmarshal(a.body, &c); err != nil || c.Name != w.name {
			x.t.Errorf("%s was answered with %s", w.name, a.body)
		}
		if a.Header.Get("Idempotent-Replayed") == "true" {
			x.replayed.Add(1)
		}
		x.ledger.acknowledge(c)
		w.name = ""
		return true
	case a.code() == petcat.CodeServiceUnavailable && (x.doomed == nil || s == x.doomed):
		x.unavailable.Add(1)
	case a.code() != petcat.CodeIdempotencyInProgress || w.idempotency == "":
		x.t.Errorf("%s: %d %s", w.name, a.StatusCode, a.body)
	}
	if w.idempotency == "" {
		w.name = "" // nobody will ever know
	}
	return false
}

// wantUnavailable: while PostgreSQL is away, creates are refused on every node,
// and lists go on.
func (x *outage) wantUnavailable() {
	x.t.Helper()
	x.control().Lap()
	var mu sync.Mutex
	var slowest time.Duration
	x.each(func(s *server) {
		name := fmt.Sprintf("away-%d", time.Now().UnixNano())
		x.ledger.send(name)
		begin := time.Now()
		// The checker looks for Retry-After.
		if a := s.create(x.key, name); a.code() != petcat.CodeServiceUnavailable {
			x.t.Errorf("a create without PostgreSQL: %d %s", a.StatusCode, a.body)
		}
		mu.Lock()
		slowest = max(slowest, time.Since(begin))
		mu.Unlock()
		a, _ := s.longList(x.plain, x.key)
		if a.StatusCode != http.StatusOK || a.age(x.t) == 0 {
			x.t.Errorf("a list without PostgreSQL: %d, age %q, %.300s", a.StatusCode, a.Header.Get("Age"), a.body)
		}
	})
	x.control().Judge("to refuse a create", slowest, 5*time.Second)
}

// wantBack waits until every node creates and lists as before.
func (x *outage) wantBack() {
	x.t.Helper()
	x.control().Lap()
	begin := time.Now()
	var mu sync.Mutex
	var slowest time.Duration
	x.each(func(s *server) {
		name := fmt.Sprintf("back-%s-%d", s.api, begin.UnixNano())
		w := &torturer{name: name, idempotency: name}
		x.ledger.send(name)
		only := &outage{cluster: &cluster{t: x.t, nodes: []*server{s}}, key: x.key, ledger: x.ledger, doomed: x.doomed}
		back := within(10*time.Second, func() bool { return only.createOne(w) }) &&
			within(10*time.Second, func() bool {
				a, _ := s.longList(x.plain, x.key)
				return a.StatusCode == http.StatusOK && a.Header.Get("Age") == ""
			})
		took := time.Since(begin)
		mu.Lock()
		defer mu.Unlock()
		x.back, slowest = append(x.back, took), max(slowest, took)
		if !back {
			x.t.Errorf("%s after what was lost was back a node still did not work", took)
		}
	})
	x.control().Judge("all nodes work again", slowest, 5*time.Second)
}
