package rediscounters_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"petcat/internal/counterstest"
	"petcat/internal/rediscounters"
	"petcat/internal/redistest"
)

// setup returns two nodes in virtual time, in a namespace of the test's own.
func setup(t *testing.T, url string) counterstest.Setup {
	t.Helper()
	var s counterstest.Setup
	var now atomic.Int64
	now.Store(start)
	for i := range s.Nodes {
		s.Nodes[i] = open(t, url, func(o *rediscounters.Options) {
			o.Namespace = t.Name()
			rediscounters.Virtual(o, now.Load)
		})
	}
	s.Step = func(by time.Duration) { now.Add(int64(by)) }
	return s
}

func TestSuite(t *testing.T) {
	t.Parallel()
	server, beside := redistest.Start(t, "--repl-diskless-sync-delay", "0"), redistest.Start(t, "--repl-diskless-sync-delay", "0")
	counterstest.Run(t, func(t *testing.T) counterstest.Setup {
		t.Helper()
		s := setup(t, server.URL())
		s.Empty = func(int) { server.Flush() }
		// The copy is on a server that no node calls: it gave way to this one later.
		s.Copy = func(int) func() {
			keys := strings.Fields(server.MustDo("KEYS", "*"))
			beside.Flush()
			for _, key := range keys {
				server.MustDo("MIGRATE", "127.0.0.1", port(beside), key, "0", "1000", "COPY")
			}
			return func() {
				server.Follow(beside.Address())
				server.MustDo("REPLICAOF", "NO", "ONE")
			}
		}
		return s
	}, 2_000)
}

func testClusterSuite(t *testing.T, c *redistest.Cluster) {
	t.Helper()
	counterstest.Run(t, func(t *testing.T) counterstest.Setup {
		t.Helper()
		s := setup(t, c.URL())
		s.Empty = func(p int) {
			prefix := rediscounters.Prefix(s.Nodes[0].(*rediscounters.Counters), p)
			for _, server := range c.Servers {
				for key := range strings.FieldsSeq(server.MustDo("KEYS", prefix+"*")) {
					server.MustDo("DEL", key)
				}
			}
		}
		return s
	}, 1_000)
}
