package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clock"
	"petcat/internal/config"
	"petcat/internal/httpapi"
	"petcat/internal/logging"
	"petcat/internal/metrics"
	"petcat/internal/pgtest"
)

// TestMain sees that nodes leave no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		} else if time.Since(begin) > 30*time.Second {
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

// A clock that differs from the database's, and so from those of the other nodes.
func TestMetricsOfAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Options{})
	n := startTestNode(t, func(o *Options) {
		o.Settings.Database, o.Clock = petcat.NewSecret(server.Database(t)), clock.NewManual(time.Now().Add(time.Hour))
	})
	n.awaitMetric(t, "petcat_clock_ahead_of_database_seconds", 3000)
}
