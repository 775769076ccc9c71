package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"petcat/internal/pgtest"
	"petcat/internal/redistest"
)

// hunter2 is the password in the addresses of these tests. Nobody but the servers
// may hear of it.
const hunter2 = "hunter2-5b1e"

// TestClusterStartsAtOnce: nodes that start at the same moment on an empty
// database agree who makes its tables.
func TestClusterStartsAtOnce(t *testing.T) {
	const nodes = 5
	times := often(t, 3, 30)
	for range times {
		c := newCluster(t)
		c.start(nodes)
		key := c.newCaller()
		want := category{c.nodes[0].mustCreate(key, "dog"), "dog"}
		for _, s := range c.nodes {
			if got := s.categories(key); len(got) != 1 || got[0] != want {
				t.Errorf("a node shows %v; want %v", got, want)
			}
			if said := s.log.sentences(); len(said) > 0 {
				t.Errorf("a node said %q", said)
			}
		}
		c.mustStop()
	}
}

// TestCommandsMakeNoDeployment: a command that is given the wrong database says so,
// and makes nothing there.
func TestCommandsMakeNoDeployment(t *testing.T) {
	database := newCluster(t).database
	for range 2 { // nothing is made by the first either
		code, _, stderr := petcatRuns(t, append([]string{"account", "create", "acme", "--plan", "free"}, placeFlags(database)...)...)
		if code != exitConfig || !strings.Contains(stderr, "petcat init") {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	mustRun(t, append([]string{"init"}, placeFlags(database)...)...)
	mustRun(t, append([]string{"account", "create", "acme", "--plan", "free"}, placeFlags(database)...)...)
}

// withPassword returns a server that asks for a password where it is spoken to by
// TCP, and the URL of a database there with the right one.
func withPassword(t *testing.T) (pg *pgtest.Server, right string) {
	t.Helper()
	pg = pgtest.New(t, pgtest.Options{InitArgs: []string{"--auth-host=scram-sha-256"}})
	database := pg.Database(t)
	pg.Execute(t, database, "ALTER ROLE petcat PASSWORD '"+hunter2+"'")
	return pg, secretly(t, pgtest.ByTCP(database, pg.Address()), hunter2)
}

// secretly puts a password into a URL.
func secretly(t *testing.T, address, password string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String()
}

// TestClustersShareARedis: deployments whose accounts have the same numbers do not
// count for each other, on a server that is accepted although it may evict.
func TestClustersShareARedis(t *testing.T) {
	t.Parallel()
	shared := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	for range 2 {
		c := newCluster(t)
		s := c.startOne("--limiter", shared.URL(), "--limiter-allow-eviction")
		key := c.newKey("first", "free")
		if left := s.list(key).number(t, "X-RateLimit-Remaining"); left != 59 {
			t.Errorf("the first answer says that %d requests are left; want 59", left)
		}
		if !strings.Contains(s.log.String(), "evict counts") {
			t.Error("the log does not warn")
		}
		c.mustStop()
	}
}

// TestClusterThatCannotStartSaysWhy: one sentence that names the remedy and not
// the password, and an exit code that tells a supervisor whether to try again.
func TestClusterThatCannotStartSaysWhy(t *testing.T) {
	pg, right := withPassword(t)
	open := pg.Database(t)
	petcatDoes(t, right, "init", "--environment", "production")
	evicting := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	locked := redistest.Start(t, "--requirepass", "another")
	unsafe := pgtest.New(t, pgtest.Options{NoSync: true}).Database(t)

	for _, c := range []struct {
		name     string
		database string
		flags    []string
		code     int
		parts    []string
	}{
		{name: "wrong password", database: strings.Replace(right, hunter2, hunter2+"x", 1), code: exitConfig, parts: []string{"password"}},
		{name: "no such user", database: strings.Replace(right, "petcat:", "nobody:", 1), code: exitConfig, parts: []string{"nobody"}},
		{name: "no such database", database: strings.Replace(right, "/test", "/nobodys", 1), code: exitConfig, parts: []string{"nobodys"}},
		{name: "no such host", database: "postgres://petcat:" + hunter2 + "@petcat.invalid/petcat", code: exitTryLater, parts: []string{"petcat.invalid"}},
		{name: "nobody listens", database: "postgres://petcat:" + hunter2 + "@127.0.0.1:1/petcat", code: exitTryLater, parts: []string{"127.0.0.1"}},
		{name: "unreadable address", database: "postgres://petcat:" + hunter2 + "@localhost:x/petcat", code: exitConfig, parts: []string{"postgres://"}},
		{name: "other environment", database: right, flags: []string{"--environment", "staging"}, code: exitConfig, parts: []string{"production", "--environment"}},
		{name: "not durable", database: unsafe, code: exitConfig, parts: []string{"fsync"}},
		{name: "Redis evicts", database: open, flags: []string{"--limiter", evicting.URL()}, code: exitConfig, parts: []string{"allkeys-lru", "noeviction"}},
		{name: "Redis refuses the password", database: open, flags: []string{"--limiter", "redis://:" + hunter2 + "@" + locked.Address()}, code: exitConfig, parts: []string{"password"}},
		{name: "Redis wants a password", database: open, flags: []string{"--limiter", locked.URL()}, code: exitConfig, parts: []string{"password"}},
		{name: "unreadable address of Redis", database: open, flags: []string{"--limiter", "redis://:" + hunter2 + "@localhost:x"}, code: exitConfig, parts: []string{"redis://"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, sentences := serveFails(t, c.database, c.flags...)
			if code != c.code {
				t.Errorf("it ended with %d; want %d", code, c.code)
			}
			wantOneSentence(t, sentences, c.parts...)
			if said := strings.Join(sentences, "\n"); strings.Contains(said, hunter2) {
				t.Errorf("it tells the password: %s", said)
			}
		})
	}
}

// TestClusterTellsNoPassword: neither while all is well nor when it is not.
func TestClusterTellsNoPassword(t *testing.T) {
	t.Parallel()
	pg, database := withPassword(t)
	redis := redistest.Start(t, "--requirepass", hunter2)
	limiter := "redis://:" + hunter2 + "@" + redis.Address()
	s := serve(t, database, "--limiter", limiter, "--log-level", "debug", "--max-staleness", "1s")
	openAccount(t, database, "acme", unlimited...)
	_, key := issueKey(t, database, "acme")
	lapse(heardWithin) // it forgets what it looked up before it heard of the key
	s.mustCreate(key, "dog")
	redis.Kill()
	pg.Kill()
	// What comes of these is told elsewhere.
	_, _ = s.list(key), s.create(key, "cat")
	eventually(t, 10*time.Second, "it is degraded", func() bool {
		r := s.readiness()
		return r.Checks["store"] != "ok" && r.Checks["limiter"] != "ok"
	})
	_, metrics := s.ask("/metrics")
	_, ready := s.ask("/readyz")
	redis.Restart()
	must(t, pg.Start(t.Context()))
	s.awaitWell(10 * time.Second)
	s.mustStop()
	for where, text := range map[string]string{"the log": s.log.String(), "the metrics": metrics, "/readyz": ready, "stdout": s.stdout.String()} {
		if strings.Contains(text, hunter2) {
			t.Errorf("a password is in %s", where)
		}
	}

	// Without Redis a node starts, and says so.
	away := serve(t, database, "--limiter", "redis://:"+hunter2+"@petcat.invalid")
	// A node that has just joined may have no share yet.
	if a := away.list(key); a.StatusCode >= http.StatusInternalServerError {
		t.Errorf("a list is answered with %d: %s", a.StatusCode, a.body)
	}
	if r := away.readiness(); r.Status != "degraded" || r.Checks["limiter"] == "ok" {
		t.Errorf("/readyz says %v", r)
	}
	away.mustStop()
	if strings.Contains(away.log.String(), hunter2) {
		t.Error("a password is in the log")
	}
}
