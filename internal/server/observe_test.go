package server

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/httpapi"
	"petcat/internal/logging"
	"petcat/internal/metrics"
	"petcat/internal/usage"
)

// Metrics and log tell who calls an operation that is deprecated, and of no other.
func TestDeprecatedCallsAreTold(t *testing.T) {
	var log bytes.Buffer
	n := &Node{metrics: metrics.New("v"), log: logging.New(&log, slog.LevelInfo, logging.JSON), usage: usage.New(usage.Options{Clock: clock.NewSystem()})}
	n.observe(&httpapi.Record{API: true, Operation: petcat.OpListCategories, Deprecated: true, Account: 7, Key: 9, Status: 200})
	n.observe(&httpapi.Record{API: true, Operation: petcat.OpCreateCategory, Account: 8, Key: 10, Status: 201})
	if err := n.log.Close(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	n.metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	const counted = `petcat_deprecated_requests_total{account="acct_7",operation="listCategories"} 1`
	if told := w.Body.String(); !strings.Contains(told, counted) || strings.Count(told, "\npetcat_deprecated_requests_total{") != 1 {
		t.Errorf("the metrics do not tell of the one deprecated call:\n%s", told)
	}
	lines := strings.Split(log.String(), "\n")
	if !strings.Contains(lines[0], `"operation":"listCategories","deprecated":true`) || !strings.Contains(lines[0], `"account":"acct_7"`) ||
		strings.Contains(lines[1], "deprecated") {
		t.Errorf("the log tells:\n%s", log.String())
	}
}
