package e2e

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"petcat/internal/stalltest"
)

// TestClusterStopsWhilePostgresHangs: a node that is stopped while PostgreSQL hangs ends in
// time all the same, whoever keeps the counters.
func TestClusterStopsWhilePostgresHangs(t *testing.T) {
	t.Parallel()
	const (
		shutdown = 2 * time.Second
		closing  = 10 * time.Second // after it, as docs/operations.md says
	)
	for _, counters := range []string{"database", "redis", "a redis that hangs"} {
		t.Run(counters, func(t *testing.T) {
			t.Parallel()
			control := stalltest.Start(t)
			control.InTime("the end", shutdown+closing, func() time.Duration {
				c := newClusterApart(t)
				limiter := counters
				if counters != "database" {
					limiter = c.redis.URL()
				}
				s := c.startOne("--limiter", limiter, "--shutdown-timeout", shutdown.String())
				key := c.newCaller()
				if counters == "a redis that hangs" { // then the node has leased for itself, and returns the rest
					c.redis.Hang()
					defer c.redis.Resume()
				}
				wantStatus(t, s.list(key), http.StatusOK)
				s.mustCreate(key, "dog")
				c.postgres.Suspend()
				control.Lap()
				began := time.Now()
				s.signal(syscall.SIGTERM)
				code := s.wait(time.Minute)
				took := time.Since(began)
				c.postgres.Resume()
				t.Logf("it ended with %d after %s: %q", code, took.Round(time.Millisecond), s.log.sentences())
				if code != exitDone && code != exitFailed && code != exitTryLater {
					t.Errorf("it ended with %d", code)
				}
				return took
			})
		})
	}
}
