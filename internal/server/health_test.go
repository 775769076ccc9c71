package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/console"
	"github.com/petcat-api/petcat/internal/pgtest"
	"github.com/petcat-api/petcat/internal/ratelimit"
)

// TestUnhealthySince: the start of a problem stays until the part is healthy again.
func TestUnhealthySince(t *testing.T) {
	t.Parallel()
	begun := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	now := begun
	var last *condition
	for _, step := range []struct {
		store, limiter string // the problems
		want           [2]time.Time
	}{
		{"", "", [2]time.Time{}},
		{"broken", "", [2]time.Time{begun.Add(time.Second), {}}},
		{"worse", "broken", [2]time.Time{begun.Add(time.Second), begun.Add(2 * time.Second)}},
		{"", "broken", [2]time.Time{{}, begun.Add(2 * time.Second)}},
		{"", "", [2]time.Time{}},
	} {
		c := &condition{parts: []console.Part{
			{Name: "store", Problem: step.store},
			{Name: "limiter", Problem: step.limiter},
		}}
		last = c.after(last, now)
		if got := [2]time.Time{c.parts[0].Since, c.parts[1].Since}; got != step.want {
			t.Errorf("%+v: unhealthy since %v", step, got)
		}
		now = now.Add(time.Second)
	}
}

// TestReadinessStatus: the status depends on the worst problem, and reports whether the node accepts
// requests.
func TestReadinessStatus(t *testing.T) {
	t.Parallel()
	well := condition{parts: []console.Part{{Name: "store"}}}
	ill := condition{parts: []console.Part{{Name: "store", Problem: "slow"}}}
	failed, away := ill, ill
	failed.failed, failed.away = true, true
	away.away = true
	for _, tt := range []struct {
		want              string
		ready             bool
		condition         *condition
		draining, drained bool
	}{
		{want: "starting"},
		{want: "failed", condition: &failed, draining: true, drained: true},
		{want: "draining", condition: &away, draining: true, drained: true},
		{want: "unavailable", condition: &away, drained: true},
		{want: "drained", condition: &ill, drained: true},
		{want: "degraded", condition: &ill, ready: true},
		{want: "ready", condition: &well, ready: true},
	} {
		s := new(state)
		s.nodes.Store(&[]petcat.Node{{Drained: tt.drained}})
		s.condition.Store(tt.condition)
		s.draining.Store(tt.draining)
		if r, ready := s.readiness(); r.Status != tt.want || ready != tt.ready {
			t.Errorf("the status is %s, ready: %t; want %s, %t", r.Status, ready, tt.want, tt.ready)
		}
	}
}

// TestDiskFailureIsNotReady: a node whose database stopped writing reports it until it is restarted.
func TestDiskFailureIsNotReady(t *testing.T) {
	t.Parallel()
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), io.Discard)
	n := must(Start(t.Context(), o))
	defer func() { _ = n.Shutdown(context.WithoutCancel(t.Context())) }() // reports the failure
	file := filepath.Join(o.Settings.Data, "petcat.db")
	if err := os.Rename(file, file+".old"); err != nil { // a write notices it
		t.Fatal(err)
	}
	if err := n.Store().SetSharedText(t.Context(), "test", ""); petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
		t.Fatalf("a write into a moved file: %v", err)
	}
	checks := &checks{clock: n.Clock, db: n.data.db, keyring: n.keyring, limiter: n.limiter}
	checks.state, checks.log = n.state, n.Log.Logger
	checks.check(t.Context())
	r, ready := n.state.readiness()
	if r.Status != "failed" || ready || !strings.Contains(r.Checks["store"], "nothing can be written") {
		t.Errorf("the node is ready: %t, %+v", ready, r)
	}
}

// TestStoreProblemIsLogged: a log line reports when a store problem begins, changes and ends.
func TestStoreProblemIsLogged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	c := &checks{log: slog.New(slog.NewTextHandler(&log, nil))}
	var before *condition
	for _, step := range []struct{ problem, want string }{
		{"", ""},
		{"commits wait", `level=ERROR msg="the store has a problem" problem="commits wait"`},
		{"commits wait", ""},
		{"no response", `level=ERROR msg="the store has a problem" problem="no response"`},
		{"", `level=INFO msg="the store is healthy again"`},
		{"", ""},
	} {
		now := &condition{parts: []console.Part{{Name: "store", Problem: step.problem}}}
		log.Reset()
		c.report(before, now)
		if got := log.String(); !strings.Contains(got, step.want) || (got == "") != (step.want == "") {
			t.Errorf("%q: got the line %q, want %q", step.problem, got, step.want)
		}
		before = now
	}
}

// jumpingClock is the system clock, and can be set ahead.
type jumpingClock struct {
	clock.System

	ahead atomic.Int64
}

func (c *jumpingClock) Read() clock.Reading {
	r, ahead := c.System.Read(), c.ahead.Load()
	return clock.Reading{Wall: r.Wall + ahead, Mono: r.Mono + ahead}
}

// TestDatabaseOutage: while the database does not respond, the node counts in memory, and /readyz
// reports it. After 30 s, all requests get 503. The node recovers without any request.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	database, clock := pgtest.New(t), &jumpingClock{System: clock.NewSystem()}
	t.Cleanup(database.Resume)
	n := startTestNode(t, func(o *Options) {
		o.Settings.Database, o.Settings.MaxStaleness = petcat.NewSecret(database.Database(t)), 30*time.Second
		o.Clock = clock
	})
	key, secret := newKey(t, n.Store())
	eventually := func(what string, holds func() bool) {
		t.Helper()
		for begin := time.Now(); !holds(); <-time.After(10 * time.Millisecond) {
			if time.Since(begin) > 30*time.Second {
				t.Fatalf("%s: not after 30 s", what)
			}
		}
	}
	is := func(status string, ready bool) func() bool {
		return func() bool {
			r, is := n.state.readiness()
			return r.Status == status && is == ready
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	wantStatus := func(url string, want int) {
		t.Helper()
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))
		r.Header.Set("Authorization", "Bearer "+secret.Reveal())
		res := must(client.Do(r))
		_ = res.Body.Close()
		mustWait := want == http.StatusServiceUnavailable && url != n.AdminURL()+"/readyz"
		if res.StatusCode != want || mustWait && res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, want %d; %v", url, res.Status, want, res.Header)
		}
	}
	list, readyz := n.PublicURL()+"/v1/categories", n.AdminURL()+"/readyz"
	spend := func() (ratelimit.Decision, error) {
		return n.limiter.Spend(t.Context(), ratelimit.Charge{
			Account: key.Account,
			Key:     key.ID,
			Quota:   petcat.Quota{PerMinute: 60, PerDay: 1_000},
		})
	}
	eventually("the database decides, and returns its revision", func() bool {
		d, err := spend()
		return err == nil && d.Newest == must(n.Store().Revision(t.Context()))
	})
	wantStatus(list, http.StatusOK)
	local := metric(t, n.metrics, "petcat_limiter_local_total") // of a slow start

	database.Suspend()
	if d, err := spend(); err != nil || d.Newest != 0 {
		t.Errorf("during the outage: %+v, %v; want a decision from memory", d, err)
	}
	n.wantMetric(t, "petcat_limiter_local_total", local+1)
	eventually("the node is degraded", is("degraded", true))
	wantStatus(list, http.StatusOK)
	wantStatus(readyz, http.StatusOK)

	clock.ahead.Store(int64(31 * time.Second))
	wantStatus(list, http.StatusServiceUnavailable)
	eventually("the node is unavailable", is("unavailable", false))
	wantStatus(readyz, http.StatusServiceUnavailable)
	n.wantMetric(t, "petcat_ready", 0)

	database.Resume()
	eventually("the node is ready again", is("ready", true))
	wantStatus(readyz, http.StatusOK)
	eventually("lists are served", func() bool {
		_, err := spend()
		return err == nil
	})
	wantStatus(list, http.StatusOK)
}

// TestRejectedLogin: /readyz reports a rejected login with the same sentence as a failed start.
func TestRejectedLogin(t *testing.T) {
	t.Parallel()
	var shared pgtest.Shared
	t.Cleanup(shared.Remove)
	address := shared.Database(t)
	owner, name := pgtest.Connect(t, address), must(url.Parse(address)).Path[1:]
	role := "role_" + name
	pgtest.Execute(t, owner, `CREATE ROLE `+role+` LOGIN SUPERUSER`)
	t.Cleanup(func() {
		pgtest.Execute(t, owner, `REASSIGN OWNED BY `+role+` TO CURRENT_USER`)
		pgtest.Execute(t, owner, `DROP ROLE `+role)
	})
	n := startTestNode(t, func(o *Options) {
		o.Settings.Database = petcat.NewSecret(
			"postgres://" + role + "@" + shared.Server(t).Address() + "/" + name + "?sslmode=disable")
	})
	awaitStore := func(want string) {
		t.Helper()
		for begin := time.Now(); ; <-time.After(10 * time.Millisecond) {
			if r, _ := n.state.readiness(); strings.Contains(r.Checks["store"], want) {
				return
			} else if time.Since(begin) > 30*time.Second {
				t.Fatalf("the store does not become %q: %+v", want, r)
			}
		}
	}
	awaitStore(healthy)
	pgtest.Execute(t, owner, `ALTER ROLE `+role+` NOLOGIN`)
	pgtest.Execute(t, owner, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '`+role+`'`)
	awaitStore("rejects the login (role \"" + role + "\" is not permitted to log in)")
	pgtest.Execute(t, owner, `ALTER ROLE `+role+` LOGIN`)
	awaitStore(healthy)
}
