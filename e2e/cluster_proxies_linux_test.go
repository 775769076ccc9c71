package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petcat"
)

// startComposeProxy starts the proxy of deploy/compose.yaml in front of three nodes.
func startComposeProxy(t *testing.T, nodes ...upstream) *front {
	t.Helper()
	listen := freeAddress(t)
	replacements := []string{haproxyConnections, fewConnections, "bind :8080\n", "bind " + listen + "\n"}
	for i, node := range nodes {
		replacements = append(replacements, fmt.Sprintf("server petcat-%[1]d petcat-%[1]d:8080\n", i+1),
			fmt.Sprintf("server petcat-%d %s port %s\n", i+1, node.api, node.adminPort()))
	}
	return &front{server: startProxy(t, haproxyOf(t, shipped(t, "compose/haproxy.cfg", replacements...)), listen), listen: listen, protocols: []string{"http/1.1"}}
}

// TestClusterProxies runs the configurations of haproxy that we ship in front of several
// nodes. A node that stops costs no request, and one that is killed only the creates that it
// had; none is sent twice.
func TestClusterProxies(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]struct {
		nodes int
		start func(*testing.T, ...upstream) *front
	}{
		"proxy":   {2, proxiesWithTLS[2].start},
		"compose": {3, startComposeProxy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			flags := []string{"--trusted-proxies", "127.0.0.1,::1", "--shutdown-timeout", "10s"}
			c.start(p.nodes, flags...)
			key := c.newCaller()
			c.remember(key)
			var nodes []upstream
			for _, s := range c.nodes {
				nodes = append(nodes, s.upstream())
			}
			f := p.start(t, nodes...)
			f.wantOnlyHTTP1()
			f.wantCallersApart(c.nodes...)
			f.wantStopUnnoticed(c, key, flags)
			f.wantKillWithoutRepeats(c, key)
			f.client.CloseIdleConnections()
			c.mustStop()
		})
	}
}

// wantStopUnnoticed stops a node and starts it again, while requests come.
func (f *front) wantStopUnnoticed(c *cluster, key string, flags []string) {
	f.t.Helper()
	use := useFront(c.t, f.server, key, 4, false)
	if code := c.nodes[1].stop(); code != exitDone {
		f.t.Errorf("a node ended with %d: %q", code, c.nodes[1].log.sentences())
	}
	again := c.launch(append(flags, c.nodes[1].where()...)...)
	again.awaitReady()
	eventually(f.t, 5*time.Second, "the proxy uses the node again", func() bool {
		return strings.Contains(again.log.String(), `"msg":"request"`)
	})
	c.nodes[1] = again
	f.t.Logf("while a node stopped and started: %s", use.end(c.nodes[0]))
}

// wantKillWithoutRepeats freezes a node, so that requests wait for it, and kills it.
func (f *front) wantKillWithoutRepeats(c *cluster, key string) {
	f.t.Helper()
	victim := c.nodes[0]
	others, each := len(c.nodes)-1, 2*len(c.nodes)
	c.forget(victim)
	known := c.nodes[0].categories(key)
	caller := f.unchecked(f.protocols[0]) // the answers to creates may be the proxy's own

	lists, creates := make([]*answer, each), make([]*answer, each)
	var all sync.WaitGroup
	victim.signal(sigStop)
	// The proxy gives each node two of the creates, and then two of the lists.
	whileItIsFrozen := func(request func(i int)) {
		f.t.Helper()
		var answered atomic.Int64
		for i := range each {
			all.Go(func() {
				request(i)
				answered.Add(1)
			})
		}
		eventually(f.t, 5*time.Second, "the other nodes have answered", func() bool {
			return answered.Load() >= int64(2*others)
		})
	}
	whileItIsFrozen(func(i int) {
		a, err := caller.try(http.MethodPost, f.api+"/v1/categories", strings.NewReader(categoryBody(fmt.Sprint("in flight ", i))), withKey(key))
		if err == nil {
			creates[i] = a
		}
	})
	whileItIsFrozen(func(i int) {
		a, err := f.tryList(key)
		if err != nil {
			f.t.Errorf("list: %v", err)
		}
		lists[i] = a
	})
	victim.kill()
	all.Wait()
	if f.t.Failed() {
		return
	}

	for _, a := range lists {
		wantStatus(f.t, a, http.StatusOK)
	}
	want := known
	failed := 0
	for _, a := range creates {
		switch {
		case a == nil: // haproxy closed a connection that had been used before
			failed++
		case a.StatusCode == http.StatusCreated:
			want = append(want, a.category(f.t))
		default:
			wantOwnError(f.t, a, petcat.CodeServiceUnavailable, http.StatusBadGateway)
			failed++
		}
	}
	if failed == 0 {
		f.t.Error("no create waited for the node that was killed")
	}
	for i := range each { // some of them for the node that is gone
		wantStatus(f.t, f.list(key), http.StatusOK)
		want = append(want, category{f.mustCreate(key, fmt.Sprint("after ", i)), fmt.Sprint("after ", i)})
	}
	slices.SortFunc(want, func(a, b category) int { return int(a.ID - b.ID) })
	if got := c.nodes[0].categories(key); !slices.Equal(got, want) {
		f.t.Errorf("there are %v; want %v", got, want)
	}
	f.t.Logf("of %d creates and %d lists, %d creates failed with the node", each, each, failed)
}
