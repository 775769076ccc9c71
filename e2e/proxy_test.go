package e2e

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// forwarder is a fixed address for a node that is replaced. It only forwards bytes, so clients notice a
// missing response.
type forwarder struct {
	listener net.Listener
	behind   atomic.Pointer[node]
}

func newForwarder(t testing.TB, n *node) *forwarder {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	d := &forwarder{listener: listener}
	d.behind.Store(n)
	go func() {
		for {
			caller, err := listener.Accept()
			if err != nil {
				return
			}
			go d.pass(caller)
		}
	}()
	return d
}

func (d *forwarder) url() string { return "http://" + d.listener.Addr().String() }

func (d *forwarder) pass(caller net.Conn) {
	defer func() { _ = caller.Close() }()
	server, err := net.Dial("tcp", strings.TrimPrefix(d.behind.Load().api, "http://"))
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, caller)
		_ = server.Close()
	}()
	_, _ = io.Copy(caller, server)
}

// balancer is a small load balancer: it sends a request to a node that is ready by /readyz, or to the
// next node if the connection fails.
type balancer struct {
	mu    sync.Mutex
	nodes []*node // guarded by mu
	turn  int     // guarded by mu
}

// newBalancer returns a load balancer for nodes, and its URL.
func newBalancer(t testing.TB, nodes ...*node) (b *balancer, address string) {
	t.Helper()
	b = &balancer{nodes: nodes}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetXForwarded() },
		Transport: b,
		ErrorLog:  slog.NewLogLogger(slog.NewTextHandler(t.Output(), nil), slog.LevelError),
	})
	t.Cleanup(server.Close)
	return b, server.URL
}

// replace replaces a node.
func (b *balancer) replace(old, next *node) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, n := range b.nodes {
		if n == old {
			b.nodes[i] = next
		}
	}
}

// next returns the next node.
func (b *balancer) next() *node {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	return b.nodes[b.turn%len(b.nodes)]
}

// fresh opens a connection for each request, so that no idle connection is closed during one.
var fresh = &http.Transport{DisableKeepAlives: true, DisableCompression: true}

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	for range 100 {
		n := b.next()
		if !n.ready() {
			continue
		}
		u, err := url.Parse(n.api)
		if err != nil {
			return nil, err
		}
		r.URL.Scheme, r.URL.Host = u.Scheme, u.Host
		res, err := fresh.RoundTrip(r)
		if rejected := new(net.OpError); errors.As(err, &rejected) && rejected.Op == "dial" {
			continue
		}
		return res, err
	}
	return nil, errors.New("no node is ready")
}
