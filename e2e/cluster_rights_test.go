package e2e

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"petcat/internal/redistest"
)

// told finds a block of docs/scaling.md.
func told(t *testing.T, pattern string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/scaling.md")
	must(t, err)
	found := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
	if found == nil {
		t.Fatalf("docs/scaling.md has nothing like %s", pattern)
	}
	return found[1]
}

// TestClusterWithFewRights: the rights that docs/scaling.md names are enough, in
// PostgreSQL and in Redis, for everything that a node does.
func TestClusterWithFewRights(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	grants := told(t, "(?s)```sql\n(CREATE ROLE node_of_petcat.*?)```")
	acl := told(t, `\n(ACL SETUSER petcat [^\n]+)\n`)
	role := fmt.Sprint("node", time.Now().UnixNano()) // goes with the server
	runner := strings.Replace(c.database, "user=petcat", "user="+role, 1)
	if runner == c.database {
		t.Fatalf("the address %s names no user", c.database)
	}

	// Only who owns the tables may make them, once PostgreSQL 14 has heard of it.
	c.postgres.Execute(t, c.database, told(t, `(?s)(GRANT CREATE [^;]+;\nREVOKE CREATE [^;]+;)`))
	c.postgres.Execute(t, "postgres", "CREATE ROLE "+role+" LOGIN")
	code, said := serveFails(t, runner)
	if code != exitConfig {
		t.Errorf("on an empty database it ended with %d", code)
	}
	wantOneSentence(t, said, "permissions")
	c.startOne().mustStop()
	c.nodes = nil
	c.postgres.Execute(t, "postgres", "DROP ROLE "+role)
	c.postgres.Execute(t, c.database, strings.ReplaceAll(grants, "node_of_petcat", role))

	c.redis.MustDo(strings.Fields(acl)...)
	address := "redis://petcat:PASSWORD@" + c.redis.Address()
	s := serve(t, runner, "--limiter", address)
	key := c.newKey("patient", unlimited...)
	small := c.newKey("impatient", "enterprise", "--per-minute", "2", "--per-day", "20")
	petcatDoes(t, runner, "account", "list")
	lapse(heardWithin)
	s.mustCreate(key, "dog")
	// Charged, refused, an early retry, and banned.
	eventually(t, 20*time.Second, "the key is banned", func() bool {
		return s.list(small).code() == "key_banned"
	})
	s.awaitWell(10 * time.Second)
	wantStatus(t, s.list(key), http.StatusOK)
	s.mustStop()
	// The last node gives back what is left of the days.
	if denied := c.redis.MustDo("ACL", "LOG"); denied != "" {
		t.Errorf("the server denied something: %s", denied)
	}
}

// TestClusterWithFewRightsUnder: the rights in Redis are enough under Sentinel and
// in a cluster, too, with what docs/scaling.md says is to be added.
func TestClusterWithFewRightsUnder(t *testing.T) {
	t.Parallel()
	acl := told(t, `\n(ACL SETUSER petcat [^\n]+)\n`)
	allow := func(rights string, servers ...*redistest.Server) {
		for _, s := range servers {
			s.MustDo(strings.Fields(rights)...)
		}
	}
	// check starts a node, hurts the servers, and wants those that are left to have
	// denied nothing.
	check := func(t *testing.T, limiter string, hurt func(), left ...*redistest.Server) {
		t.Helper()
		database := sharedPostgres.Server(t).Database(t)
		s := serve(t, database, "--limiter", limiter)
		key := newCaller(t, database)
		lapse(heardWithin)
		s.mustCreate(key, "dog")
		s.awaitWell(10 * time.Second)
		hurt()
		wantStatus(t, s.list(key), http.StatusOK)
		s.awaitWell(30 * time.Second)
		wantStatus(t, s.list(key), http.StatusOK)
		s.mustStop()
		for _, s := range left {
			if denied := s.MustDo("ACL", "LOG"); denied != "" {
				t.Errorf("a server denied something: %s", denied)
			}
		}
	}

	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		x := redistest.StartSentinel(t)
		allow(acl+" "+told(t, "under Sentinel `([^`]+)`"), x.Primary, x.Replica)
		allow(told(t, `\n(ACL SETUSER watcher [^\n]+)\n`), x.Watcher)
		limiter := strings.Replace(x.URL(), "://", "://petcat:PASSWORD@", 1) + "&sentinel_username=watcher&sentinel_password=PASSWORD"
		check(t, limiter, x.Primary.Kill, x.Replica, x.Watcher)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		x := redistest.StartCluster(t)
		allow(acl+" "+told(t, "in a cluster add `([^`]+)`"), x.Servers...)
		limiter := strings.Replace(x.URL(), "://", "://petcat:PASSWORD@", 1)
		check(t, limiter, func() {}, x.Servers...)
	})
}
