package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clock"
	"petcat/internal/config"
	"petcat/internal/httpapi"
	"petcat/internal/logging"
	"petcat/internal/metrics"
	"petcat/internal/pgtest"
	"petcat/internal/proxytest"
	"petcat/internal/ratelimit"
	"petcat/internal/redistest"
	"petcat/internal/socket"
	"petcat/internal/stalltest"
)

// metric returns the value of a series.
func metric(t *testing.T, m *metrics.Metrics, series string) float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(w.Body.String())
	if found == nil {
		t.Fatalf("there is no %s", series)
	}
	return must(strconv.ParseFloat(found[1], 64))
}

func (n *Node) wantMetric(t *testing.T, series string, want float64) {
	t.Helper()
	if got := metric(t, n.metrics, series); got != want {
		t.Errorf("%s is %v, want %v", series, got, want)
	}
}

// awaitMetric waits until a series has reached a value.
func (n *Node) awaitMetric(t *testing.T, series string, least float64) {
	t.Helper()
	for begin := time.Now(); ; <-time.After(2 * time.Millisecond) {
		if got := metric(t, n.metrics, series); got >= least {
			return
		} else if time.Since(begin) > 10*time.Second {
			t.Fatalf("%s is %v, want %v at least", series, got, least)
		}
	}
}

// startTestNode starts a node that serves its own data unless it is told otherwise, and
// stops it when the test ends.
func startTestNode(t *testing.T, change func(*Options)) *Node {
	t.Helper()
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), io.Discard)
	change(&o)
	n := must(Start(t.Context(), o))
	t.Cleanup(func() {
		if err := n.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return n
}

// testOptions returns the options of a node on loopback.
func testOptions(t *testing.T, data string, log io.Writer) Options {
	t.Helper()
	l := logging.New(log, slog.LevelInfo, logging.Text)
	t.Cleanup(func() { _ = l.Close() })
	return Options{
		Settings: config.Settings{
			Data: data, Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Environment: petcat.Production,
			KeysInMemory: 1_000, ShutdownTimeout: 2 * time.Second,
		},
		Clock: clock.NewSystem(), Log: l, Version: "test",
	}
}

// The clock that was set back is told by how much.
func TestMetricsOfAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	manual := clock.NewManual(time.Now())
	n := startTestNode(t, func(o *Options) { o.Clock = manual })
	n.wantMetric(t, "petcat_limiter_clock_ahead_seconds", 0)
	manual.Step(-time.Hour)
	n.wantMetric(t, "petcat_limiter_clock_ahead_seconds", 3600)
	manual.Step(time.Hour)
	n.wantMetric(t, "petcat_limiter_clock_ahead_seconds", 0)
}

// failingWriter is a log whose disk is full.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestMetricsOfALogThatIsLost(t *testing.T) {
	t.Parallel()
	n := startTestNode(t, func(o *Options) { *o = testOptions(t, o.Settings.Data, failingWriter{}) })
	before := metric(t, n.metrics, "petcat_log_writes_lost_total")
	n.log.Warn("a line that is written at once")
	n.wantMetric(t, "petcat_log_writes_lost_total", before+1)
}

// awaitEmptyQueue waits until the node has written what it writes by itself.
func (n *Node) awaitEmptyQueue(t *testing.T) {
	t.Helper()
	for begin := time.Now(); metric(t, n.metrics, "petcat_store_queue") > 0; <-time.After(2 * time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			t.Fatal("writes are in the queue, and nobody makes any")
		}
	}
}

// While the database is locked, creates queue, and those beyond the queue are counted.
func TestMetricsOfAQueue(t *testing.T) {
	t.Parallel()
	const creates = 3_000
	n := startTestNode(t, func(*Options) {})
	n.awaitEmptyQueue(t)
	n.wantMetric(t, "petcat_store_shed_total", 0)
	db := must(sql.Open("sqlite", filepath.Join(n.settings.Data, "petcat.db")+"?_pragma=busy_timeout(5000)"))
	defer func() { _ = db.Close() }()
	lock := must(db.Conn(t.Context()))
	_ = must(lock.ExecContext(t.Context(), "BEGIN IMMEDIATE"))
	name := "dog"
	category := must(petcat.ParseNewCategory(&name, nil))
	var all sync.WaitGroup
	for range creates {
		all.Go(func() {
			_, err := n.backend.CreateCategory(t.Context(), petcat.CreateCategory{Account: 1, New: category})
			if err != nil && petcat.CodeOf(err) != petcat.CodeServiceUnavailable {
				t.Error(err)
			}
		})
	}
	n.awaitMetric(t, "petcat_store_queue", 1_001)
	n.awaitMetric(t, "petcat_store_shed_total", 1) // what PetcatCreatesQueue is told of
	_ = must(lock.ExecContext(t.Context(), "ROLLBACK"))
	all.Wait()
	n.awaitEmptyQueue(t)
}

// refusingListener has no descriptor left, and then is closed.
type refusingListener struct {
	net.Listener
	errs []error
}

func (l *refusingListener) Accept() (net.Conn, error) {
	err := l.errs[0]
	l.errs = l.errs[1:]
	return nil, err
}

func TestMetricsOfConnectionsThatCannotBeAccepted(t *testing.T) {
	t.Parallel()
	l := socket.New(&refusingListener{errs: []error{errors.New("too many open files"), net.ErrClosed}}, socket.Timeouts{})
	m := metrics.New("test")
	registerConnections(m, l)
	for range 2 {
		if _, err := l.Accept(); err == nil {
			t.Error("a connection")
		}
	}
	if got := metric(t, m, "petcat_accept_failures_total"); got != 1 {
		t.Errorf("%v failures, want 1", got)
	}
}

// mistakenList is a list with a mistake of ours.
type mistakenList struct{}

func (mistakenList) Current(context.Context) (*catalog.Snapshot, time.Duration, error) {
	panic("boom")
}

// A mistake of ours is a 500, of which PetcatBugs is told.
func TestMetricsOfAMistake(t *testing.T) {
	t.Parallel()
	n := startTestNode(t, func(*Options) {})
	_, secret := newKey(t, n.Accounts())
	o := n.apiOptions
	o.Catalog, o.Store, o.Pets, o.Orders = mistakenList{}, n.backend, n.backend, n.backend
	o.Keyring, o.Limiter = n.keyring, n.limiter
	n.handler.set(must(httpapi.New(o)))
	const mistakes = `petcat_requests_total{code="500",operation="listCategories"}`
	n.wantMetric(t, mistakes, 0)
	r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, n.PublicURL()+"/v1/categories", nil))
	r.Header.Set("Authorization", "Bearer "+secret.Reveal())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res := must(client.Do(r))
	_ = res.Body.Close()
	if res.StatusCode != http.StatusInternalServerError {
		t.Errorf("a panic ended with %s", res.Status)
	}
	n.awaitMetric(t, mistakes, 1)
}

// Counters that are slow, and then do not answer.
func TestMetricsOfSlowCounters(t *testing.T) {
	t.Parallel()
	redis := proxytest.New(t, redistest.Start(t).Address())
	n := startTestNode(t, func(o *Options) { o.Settings.Limiter = petcat.NewSecret("redis://" + redis.Address()) })
	key, _ := newKey(t, n.Accounts())
	spend := func() {
		t.Helper()
		quota := petcat.Quota{PerMinute: 1_000_000, PerDay: 1_000_000}
		_ = must(n.limiter.Spend(t.Context(), ratelimit.Charge{Account: key.Account, Key: key.ID, Quota: quota}))
	}
	spend()
	n.awaitMetric(t, "petcat_limiter_shared_total", 1)
	n.wantMetric(t, "petcat_limiter_degraded", 0)
	const delay = 25 * time.Millisecond
	redis.Delay(delay)
	// What this process stands still is not counted.
	stalltest.Start(t).Try("slow counters", func() (fast string) {
		before := metric(t, n.metrics, "petcat_limiter_duration_seconds_sum")
		spend()
		if took := metric(t, n.metrics, "petcat_limiter_duration_seconds_sum") - before; took < delay.Seconds() {
			fast = fmt.Sprintf("a charge took %v s, want %s at least", took, delay)
		}
		return fast
	})
	redis.Cut()
	for begin := time.Now(); metric(t, n.metrics, "petcat_limiter_local_total") == 0; spend() {
		if time.Since(begin) > 10*time.Second {
			t.Fatal("the counters are away, and nothing is decided by the node")
		}
	}
	n.awaitMetric(t, "petcat_limiter_degraded", 1)
	n.awaitMetric(t, "petcat_limiter_failures_total", 1)
}

// A list asks PostgreSQL whether it is fresh. Whoever reads and does not stop keeps a
// connection.
func TestMetricsOfConnectionsInUse(t *testing.T) {
	t.Parallel()
	const pool = 8
	server := pgtest.New(t, pgtest.Options{})
	n := startTestNode(t, func(o *Options) { o.Settings.Database = petcat.NewSecret(server.Database(t)) })
	_, _ = newKey(t, n.Accounts())
	name := "dog"
	_ = must(n.backend.CreateCategory(t.Context(), petcat.CreateCategory{Account: 1, New: must(petcat.ParseNewCategory(&name, nil))}))
	asked := metric(t, n.metrics, "petcat_catalog_freshness_queries_total")
	if _, _, err := n.backend.list().Current(t.Context()); err != nil {
		t.Error(err)
	}
	n.awaitMetric(t, "petcat_catalog_freshness_queries_total", asked+1)
	release := make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	defer close(release)
	for range pool {
		all.Go(func() {
			_ = n.backend.EachCategory(t.Context(), func(petcat.RevisedCategory) error { <-release; return nil })
		})
	}
	n.awaitMetric(t, "petcat_store_connections_in_use", pool)
	n.wantMetric(t, "petcat_store_connections", pool)
}

// A clock that differs from the database's, and so from those of the other nodes.
func TestMetricsOfAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Options{})
	n := startTestNode(t, func(o *Options) {
		o.Settings.Database, o.Clock = petcat.NewSecret(server.Database(t)), clock.NewManual(time.Now().Add(time.Hour))
	})
	n.awaitMetric(t, "petcat_clock_ahead_of_database_seconds", 3000)
}
