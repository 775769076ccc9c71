package server

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/clock"
	"petcat/internal/httpapi"
	"petcat/internal/pgtest"
)

// failingWriter is a log whose disk is full.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestMetricsOfALogThatIsLost(t *testing.T) {
	t.Parallel()
	n := startTestNode(t, func(o *Options) { *o = testOptions(t, o.Settings.Data, failingWriter{}) })
	n.log.Warn("a line that is lost")
	n.log.Flush()
	if metric(t, n.metrics, "petcat_log_writes_lost_total") == 0 {
		t.Error("the metrics do not tell of lines that are lost")
	}
}

// mistakenList is a list with a mistake of ours.
type mistakenList struct{}

func (mistakenList) Current(context.Context, petcat.Revision) (*catalog.Snapshot, time.Duration, error) {
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
	n.handler.set(httpapi.New(o))
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
	var server pgtest.Shared
	t.Cleanup(server.Remove)
	n := startTestNode(t, func(o *Options) {
		o.Settings.Database, o.Clock = petcat.NewSecret(server.Database(t)), clock.NewManual(time.Now().Add(time.Hour))
	})
	n.awaitMetric(t, "petcat_clock_ahead_of_database_seconds", 3000)
}
