package e2e

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/stalltest"
)

// balancer is a small proxy: it asks each node whether it is ready, and gives
// each that is its turn. It sends nothing twice.
type balancer struct {
	nodes []*url.URL
	admin []string
	ready []atomic.Bool
	turn  atomic.Int64
	proxy *httputil.ReverseProxy
}

// startBalancer starts a proxy before the nodes and returns a server by which
// its answers are checked.
func startBalancer(t *testing.T, nodes []*server) *server {
	t.Helper()
	b := &balancer{ready: make([]atomic.Bool, len(nodes))}
	for _, s := range nodes {
		u, err := url.Parse(s.api)
		must(t, err)
		b.nodes, b.admin = append(b.nodes, u), append(b.admin, s.admin)
	}
	b.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(b.choose())
			r.SetXForwarded()
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true},
		ErrorLog:  slog.NewLogLogger(slog.NewTextHandler(t.Output(), nil), slog.LevelError),
	}
	t.Cleanup(stream(1, 50*time.Millisecond, func(*rand.Rand) { b.look() }))
	b.look()
	front := httptest.NewServer(b.proxy)
	t.Cleanup(front.Close)
	return &server{t: t, client: newClient(t), api: front.URL}
}

// look asks each node whether it is ready.
func (b *balancer) look() {
	for i, admin := range b.admin {
		status, _, err := ask(admin + "/readyz")
		b.ready[i].Store(err == nil && status == http.StatusOK)
	}
}

func (b *balancer) choose() *url.URL {
	for range b.nodes {
		i := int(b.turn.Add(1)) % len(b.nodes)
		if b.ready[i].Load() {
			return b.nodes[i]
		}
	}
	return b.nodes[0] // which fails, and is seen
}

// frontUse is a load on a proxy while the nodes behind it are replaced.
type frontUse struct {
	t            *testing.T
	key          string
	book         *ledger
	stop         func()
	shares       bool // a request may be refused by a node's share
	sent, failed atomic.Int64
	byShare      atomic.Int64 // refused
}

// useFront lets clients list and create through a proxy. No request may fail. Under the race
// detector a node that has just started may get no answer from the counters in time, and has
// no share of the minute; so may one of a hasty earlier release.
func useFront(t *testing.T, front *server, key string, clients int, hasty bool) *frontUse {
	t.Helper()
	x := &frontUse{t: t, key: key, book: newLedger(), shares: hasty || stalltest.Race}
	x.stop = stream(clients, 10*time.Millisecond, func(random *rand.Rand) {
		n := x.sent.Add(1)
		if random.IntN(2) == 0 {
			a, err := front.tryList(key)
			if err != nil || a.StatusCode != http.StatusOK && !x.refusedByShare(a) {
				x.failed.Add(1)
				t.Errorf("list: %v %v", a, err)
			}
			return
		}
		name := fmt.Sprint("c", n)
		x.book.send(name)
		a, err := front.try(http.MethodPost, front.api+"/v1/categories", strings.NewReader(categoryBody(name)), withKey(key))
		if err == nil && x.refusedByShare(a) {
			return
		}
		if err != nil || a.StatusCode != http.StatusCreated {
			x.failed.Add(1)
			t.Errorf("create: %v %v", a, err)
			return
		}
		x.book.acknowledge(a.category(t))
	})
	return x
}

// refusedByShare takes note of an answer that may refuse a request by a node's share, and
// does.
func (x *frontUse) refusedByShare(a *answer) bool {
	if !x.shares || !a.beyondShare() {
		return false
	}
	x.byShare.Add(1)
	return true
}

// end ends the load, holds what a node lists against what was acknowledged, and says what
// became of the requests.
func (x *frontUse) end(node *server) string {
	x.t.Helper()
	x.stop()
	x.book.check(node.categories(x.key))
	if v := x.book.verdict(); v != (verdict{}) {
		x.t.Error(v)
	}
	acked, maybe := x.book.acknowledged()
	return fmt.Sprintf("%d requests, %d failed, %d refused by shares, %d creates acknowledged, %d not", x.sent.Load(), x.failed.Load(), x.byShare.Load(), acked, maybe)
}

// TestClusterRollingRestart: nodes that are restarted one after the other, behind
// a proxy that asks /readyz, cost nobody a request.
func TestClusterRollingRestart(t *testing.T) {
	t.Parallel()
	rounds := often(t, 2, 33)
	c := newCluster(t)
	flags := []string{"--shutdown-timeout", "10s"}
	c.start(3, flags...)
	key := c.newCaller()
	front := startBalancer(t, c.nodes)
	x := useFront(t, front, key, 8, false)
	for range rounds {
		for i, s := range c.nodes {
			if code := s.stop(); code != exitDone {
				t.Errorf("a node ended with %d: %q", code, s.log.sentences())
			}
			again := c.launchInPlaceOf(s, flags...)
			again.awaitReady()
			c.nodes[i] = again
			lapse(200 * time.Millisecond) // until the proxy has noticed
		}
	}
	became := x.end(c.nodes[0])
	t.Logf("%d restarts: %s", 3*rounds, became)
	front.client.CloseIdleConnections()
	c.mustStop()
}
