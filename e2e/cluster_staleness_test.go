package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"petcat"
)

// age returns how old a list says that it is, in seconds; 0 is fresh.
func (a *answer) age(t testing.TB) int64 {
	t.Helper()
	if a.Header.Get("Age") == "" {
		return 0
	}
	return a.number(t, "Age")
}

// TestClusterListsWithoutDatabase: while PostgreSQL is away, killed or hung, a
// node answers lists from what it last knew, with its age, for as long as its
// --max-staleness allows, and then with 503.
func TestClusterListsWithoutDatabase(t *testing.T) {
	t.Parallel()
	c := newClusterApart(t)
	never, brief, long := c.startOne("--max-staleness", "0"), c.startOne("--max-staleness", "3s"), c.startOne()
	key := c.newCaller()
	nextMinute() // the counters may be late, and until then a node may have no share of the minute
	want := []category{{never.mustCreate(key, "dog"), "dog"}}
	c.remember(key)
	fresh := func(s *server) {
		eventually(t, 5*time.Second, "lists are fresh again", func() bool {
			a := s.list(key)
			return a.StatusCode == http.StatusOK && a.age(t) == 0
		})
	}
	for _, outage := range []struct {
		name       string
		lose, heal func()
		// notice is how long the first list may take: a query's time limit is 1.5 s.
		notice time.Duration
	}{
		{"killed", c.postgres.Kill, func() { must(t, c.postgres.Start(t.Context())) }, time.Second},
		{"hung", c.postgres.Suspend, c.postgres.Resume, 4 * time.Second},
	} {
		var lost time.Time
		c.control().Repeat(func() {
			if !lost.IsZero() {
				outage.heal()
				c.each(fresh)
			}
			outage.lose()
			lost = time.Now()
			c.control().Measure(outage.name+": the first list", outage.notice, func() {
				c.each(func(s *server) { _ = s.list(key) }) // the first one finds out
			})
		})
		wantError(t, never.list(key), http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
		for past := int64(0); time.Since(lost) < 6*time.Second; lapse(10 * time.Millisecond) {
			asked := time.Since(lost)
			a := brief.list(key)
			answered := time.Since(lost)
			switch {
			case a.StatusCode == http.StatusOK && (a.age(t) < max(1, past) || asked > 3*time.Second):
				t.Errorf("%s: a list of age %d after %s, and one of %d before", outage.name, a.age(t), asked, past)
			case a.StatusCode == http.StatusOK:
				past = a.age(t)
			case a.code() != petcat.CodeServiceUnavailable || answered < 2*time.Second:
				t.Errorf("%s: %d %s after %s", outage.name, a.StatusCode, a.body, answered)
			}
		}
		wantError(t, brief.list(key), http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
		a := long.list(key)
		wantStatus(t, a, http.StatusOK)
		if age := a.age(t); age < 5 || age > 30 {
			t.Errorf("%s: the list says that it is %d s old", outage.name, age)
		}
		for _, s := range c.nodes {
			if r := s.readiness(); r.Status != "degraded" || r.Checks["store"] == "ok" {
				t.Errorf("%s: /readyz says %v", outage.name, r)
			}
		}
		if age, stale, up := long.metric("petcat_catalog_age_seconds"), long.metric("petcat_catalog_stale_total"), long.metric("petcat_store_up"); age < 5 || age > 30 || stale < 1 || up != 0 {
			t.Errorf("%s: the metrics say that the list is %v s old, that %v were stale, and that the store is up: %v", outage.name, age, stale, up)
		}
		outage.heal()
		begin := time.Now()
		c.each(func(s *server) {
			fresh(s)
			eventually(t, 5*time.Second, "creates work again", func() bool {
				return s.create(key, "cat", withHeader("Idempotency-Key", outage.name)).StatusCode == http.StatusCreated
			})
		})
		t.Logf("PostgreSQL %s: all nodes worked again after %s", outage.name, time.Since(begin).Round(time.Millisecond))
		want = append(want, category{want[len(want)-1].ID + 1, "cat"})
	}
	// Ids may skip what a broken connection rolled back.
	if got := long.categories(key); len(got) != len(want) {
		t.Errorf("the list shows %v; want one dog and two cats", got)
	}
	c.awaitWell(10 * time.Second)
	c.mustStop()
}

// TestClusterDatabaseHangsUnderLoad: when PostgreSQL takes everything and answers
// nothing, requests do not pile up before it.
func TestClusterDatabaseHangsUnderLoad(t *testing.T) {
	t.Parallel()
	const clients = 64
	x := newOutage(t, clients)
	stop := x.load()
	lapse(500 * time.Millisecond)
	var lists, creates []time.Duration
	x.control().Repeat(func() {
		x.postgres.Suspend()
		x.control().Lap()
		lists, creates = x.times(x.postgres.Resume)
		// Those who find out wait for 3 s, those who try again for 2 s, and nobody else.
		x.control().Judge("a create", percentile(creates, 100), 5*time.Second)
		x.control().Judge("half of the creates", percentile(creates, 50), 500*time.Millisecond)
		x.control().Judge("a list", percentile(lists, 100), 4*time.Second)
		x.wantBack()
	})
	stop()
	for _, w := range x.writers {
		for i := 0; w.name != "" && !x.createOne(w); i++ {
			if i == 500 {
				t.Fatal("a create with an idempotency key is not answered")
			}
		}
	}
	for _, s := range x.nodes {
		_, list := s.longList(x.plain, x.key)
		x.ledger.check(list)
	}
	acked, _ := x.ledger.acknowledged()
	t.Logf("PostgreSQL hung under %d clients: %d lists, the slowest after %s; %d creates, the slowest after %s, the median after %s; %d acknowledged in all: %s", clients,
		len(lists), percentile(lists, 100).Round(time.Millisecond), len(creates), percentile(creates, 100).Round(time.Millisecond),
		percentile(creates, 50).Round(time.Millisecond), acked, x.ledger.verdict())
	if v := x.ledger.verdict(); v != (verdict{}) {
		t.Error(v)
	}
	x.mustStop()
}

// times lets others ask one after the other while PostgreSQL hangs, and returns
// how long they were kept waiting.
func (x *outage) times(heal func()) (lists, creates []time.Duration) {
	const hang = 5 * time.Second
	var mu sync.Mutex
	end := time.Now().Add(hang)
	x.each(func(s *server) {
		for i := 0; time.Now().Before(end); i++ {
			begin := time.Now()
			if a, _ := s.longList(x.plain, x.key); a.StatusCode != http.StatusOK {
				x.t.Errorf("list: %d %s", a.StatusCode, a.body)
			}
			listed := time.Now()
			name := fmt.Sprintf("hung-%s-%d-%d", s.api, end.Unix(), i)
			x.ledger.send(name)
			if a := s.create(x.key, name); a.StatusCode == http.StatusCreated {
				x.ledger.acknowledge(a.category(x.t))
			} else if a.code() != petcat.CodeServiceUnavailable {
				x.t.Errorf("create: %d %s", a.StatusCode, a.body)
			}
			mu.Lock()
			lists, creates = append(lists, listed.Sub(begin)), append(creates, time.Since(listed))
			mu.Unlock()
			lapse(20 * time.Millisecond)
		}
	})
	heal()
	return lists, creates
}

// TestClusterTrustsKeysForHalfAMinute: without PostgreSQL, keys that a node has in
// memory work for 30 s, because a revocation cannot reach it; others do not.
func TestClusterTrustsKeysForHalfAMinute(t *testing.T) {
	t.Parallel()
	const trust = 30 * time.Second
	c := newClusterApart(t)
	c.start(2, "--max-staleness", "10m")
	key, unseen := c.newCaller(), c.newKey("unseen", "free")
	id, revoked := issueKey(t, c.database, "caller")
	petcatDoes(t, c.database, "key", "revoke", id, "--yes")
	c.remember(key)
	c.postgres.Kill()
	lost := time.Now()
	for _, s := range c.nodes {
		wantError(t, s.list(unseen), http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
		wantError(t, s.list(revoked), http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
		wantError(t, s.list(strings.Repeat("x", 40)), http.StatusUnauthorized, petcat.CodeInvalidAPIKey)
		wantError(t, s.create(key, "dog"), http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
	}
	// The change log was last heard up to a quarter of a second before.
	for time.Since(lost) < trust-time.Second {
		for _, s := range c.nodes {
			if a := s.list(key); a.StatusCode != http.StatusOK {
				t.Fatalf("after %s: %d %s", time.Since(lost), a.StatusCode, a.body)
			}
		}
		lapse(100 * time.Millisecond)
	}
	lapse(time.Until(lost.Add(trust + 200*time.Millisecond)))
	for _, s := range c.nodes {
		wantError(t, s.list(key), http.StatusServiceUnavailable, petcat.CodeServiceUnavailable)
		if r, trusted := s.readiness(), s.metric("petcat_keyring_trusted"); r.Checks["keyring"] == "ok" || trusted != 0 {
			t.Errorf("/readyz says %v, and the metric %v", r, trusted)
		}
	}
	must(t, c.postgres.Start(t.Context()))
	for _, s := range c.nodes {
		eventually(t, 5*time.Second, "the key works again", s.answers(key, ""))
		wantError(t, s.list(revoked), http.StatusUnauthorized, petcat.CodeRevokedAPIKey)
	}
	c.awaitWell(10 * time.Second)
	c.mustStop()
}
