//go:build unix

package e2e

import (
	"fmt"
	"net/url"
	"testing"
	"time"
)

// TestClusterWithoutConnections: whichever part of a server finds that PostgreSQL has no
// connection left, the server ends with the code for trying again later.
func TestClusterWithoutConnections(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	database := asReadme(t, c.postgres)
	role, err := url.Parse(database)
	must(t, err)
	serve(t, database, "--limiter", "database").mustStop() // makes the schema
	ended := 0
	for limit, ready := 1, false; !ready; limit++ {
		c.postgres.Execute(t, "postgres", fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT %d", role.User.Username(), limit))
		data := database + "?pool_max_conns=1"
		s := launchProcess(t, data, serveFlags("serve", data, []string{"--limiter", "database"})...)
		eventually(t, 20*time.Second, "the server is ready or has ended", func() bool {
			select {
			case <-s.ended:
				return true
			default:
				at, _, _ := s.log.ready()
				ready = !at.IsZero()
				return ready
			}
		})
		if ready {
			s.mustStop()
			break
		}
		if ended++; s.code != exitTryLater {
			t.Errorf("with %d connections it ended with %d", limit, s.code)
		}
		wantOneSentence(t, s.log.sentences(), "too many connections")
	}
	if ended == 0 {
		t.Error("one connection is enough")
	}
}
