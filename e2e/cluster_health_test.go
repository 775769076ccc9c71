package e2e

import (
	"fmt"
	"testing"
	"time"
)

// healthOf is what /readyz and the metrics say of a part at one moment.
type healthOf struct{ readyz, metric bool }

func (s *server) health(part string) (w healthOf) {
	s.t.Helper()
	w.readyz = s.readiness().Checks[part] == "ok"
	switch part {
	case "store":
		w.metric = s.metric("petcat_store_up") == 1
	case "limiter":
		w.metric = s.metric("petcat_limiter_degraded") == 0
	case "keyring":
		w.metric = s.metric("petcat_keyring_trusted") == 1
	}
	return w
}

// tells waits until a node says, in /readyz and in its metrics, that a part is healthy
// or not, which both have to say within a second of each other. Then it must stay
// so for a while. It returns how long it took.
func (s *server) tells(what, part string, healthy bool, notice time.Duration) (took time.Duration) {
	s.t.Helper()
	s.control().Lap()
	begin := time.Now()
	var first time.Time
	for want := (healthOf{healthy, healthy}); ; lapse(20 * time.Millisecond) {
		got := s.health(part)
		if got == want {
			break
		}
		if first.IsZero() && got.readyz != got.metric {
			first = time.Now()
		}
		if !first.IsZero() && time.Since(first) > time.Second {
			s.t.Fatalf("%s: for a second /readyz and the metrics disagree on the %s: %+v", what, part, got)
		}
		if late := time.Since(begin); late > 3*notice {
			s.t.Fatalf("%s: after %s /readyz and the metrics say of the %s: %+v; want %+v", what, late, part, got, want)
		}
	}
	took = time.Since(begin)
	s.control().Judge(what+", and told", took, notice)
	for range 10 {
		if got := s.health(part); got != (healthOf{healthy, healthy}) {
			s.t.Errorf("%s: then /readyz and the metrics say of the %s: %+v", what, part, got)
		}
		lapse(50 * time.Millisecond)
	}
	s.t.Logf("%s: the %s is healthy: %v, told after %s", what, part, healthy, took.Round(10*time.Millisecond))
	return took
}

// TestClusterHealthWithoutTraffic: a node that nobody sends requests knows how its
// database and the shared counters are, and whether its keys can be trusted, and tells the
// same in /readyz and in the metrics that alerts look at.
func TestClusterHealthWithoutTraffic(t *testing.T) {
	t.Parallel()
	// A heartbeat every 2 s, for which PostgreSQL has 3 s, and a moment in which /readyz
	// and the metrics disagree. Everything else is asked more often.
	const notice = 6 * time.Second
	c := newClusterApart(t)
	s := c.startOne()
	s.tells("at first", "store", true, notice)
	set := func(setting string) func() {
		return func() {
			for _, statement := range []string{"ALTER SYSTEM " + setting, "SELECT pg_reload_conf()"} {
				c.postgres.Execute(t, c.database, statement)
			}
		}
	}
	start := func() { must(t, c.postgres.Start(t.Context())) }
	for _, outage := range []loss{
		{"PostgreSQL is stopped", c.postgres.Stop, start},
		{"PostgreSQL hangs", c.postgres.Suspend, c.postgres.Resume},
		{"PostgreSQL is read-only", set("SET default_transaction_read_only = on"), set("RESET default_transaction_read_only")},
		{"PostgreSQL commits nothing", set("SET synchronous_standby_names = 'nobody'"), set("RESET synchronous_standby_names")},
	} {
		outage.lose()
		s.tells(outage.name, "store", false, notice)
		outage.heal()
		s.tells(outage.name+" no more", "store", true, notice)
	}
	for _, outage := range []loss{
		{"Redis is killed", c.redis.Kill, c.redis.Restart},
		{"Redis hangs", c.redis.Hang, c.redis.Resume},
	} {
		// A look that is not answered makes the counters' second begin anew.
		c.control().Try(outage.name+" no more", func() (late string) {
			outage.lose()
			s.tells(outage.name, "limiter", false, notice)
			outage.heal()
			c.control().Lap()
			if took := s.tells(outage.name+" no more", "limiter", true, notice); took > countersBack {
				return fmt.Sprintf("they count again after %s, want %s at most", took, countersBack)
			}
			return ""
		})
	}
	c.postgres.Stop()
	s.tells("PostgreSQL is stopped for half a minute", "keyring", false, 30*time.Second+notice)
	start()
	s.tells("PostgreSQL is there again", "keyring", true, notice)
	s.tells("PostgreSQL is there again", "store", true, notice)
	// What was away was not altered, and who serves without it is ready.
	if faults, ready := s.metric("petcat_audit_faults_total"), s.metric("petcat_ready"); faults != 0 || ready != 1 {
		t.Errorf("the metrics tell of %v faults of the audit log, and of a node that is ready: %v", faults, ready)
	}
	// On a node that nobody asks for lists, the list is still known to be complete: it asks
	// each second, and waits for the answer.
	s.control().Try("the list of a healthy node", func() (late string) {
		if age := s.metric("petcat_catalog_age_seconds"); age > 1.5 {
			return fmt.Sprintf("it is %v s old", age)
		}
		return ""
	})
	if stale := s.metric("petcat_catalog_stale_total"); stale != 0 {
		t.Errorf("%v lists were stale, and nobody asked for one", stale)
	}
	c.mustStop()
}

// TestClusterTellsOfUsageThatWaits: while PostgreSQL hangs, petcat_usage_unsaved_seconds says
// since when nothing could be written to the usage history. Afterwards nothing is missing.
func TestClusterTellsOfUsageThatWaits(t *testing.T) {
	t.Parallel()
	const well = 2 // seconds: it is written each second, and that takes a moment
	c := newClusterApart(t)
	s := c.startOne()
	k := newCustomers(t, c.database, 1)
	lapse(heardWithin) // from then on it keeps the key in memory
	k.send(20, s)
	unsaved := func() float64 { return s.metric("petcat_usage_unsaved_seconds") }
	c.control().Try("the usage of a healthy node", func() (late string) {
		if since := unsaved(); since > well {
			return fmt.Sprintf("it has not been written for %v s", since)
		}
		return ""
	})
	c.postgres.Suspend()
	k.send(8, s)
	eventually(t, 10*time.Second, "it tells of usage that waits", func() bool { return unsaved() > well })
	c.postgres.Resume()
	c.control().Measure("the usage is written again", 5*time.Second, func() {
		eventually(t, 30*time.Second, "the usage is written again", func() bool { return unsaved() < well })
	})
	c.mustStop()
	k.wantExact()
}
