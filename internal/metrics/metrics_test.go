package metrics_test

import (
	"fmt"
	"math"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"petcat"
	"petcat/internal/metrics"
)

// exposition returns what Prometheus would read.
func exposition(t testing.TB, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

var sample = regexp.MustCompile(`(?m)^([a-z_]+)(\{[^}]*\})? (\S+)$`)

// series returns the values of the product's own time series by name and labels.
func series(t testing.TB, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, line := range sample.FindAllStringSubmatch(exposition(t, m), -1) {
		if !strings.HasPrefix(line[1], "petcat_") {
			continue
		}
		value, err := strconv.ParseFloat(line[3], 64)
		if err != nil {
			t.Fatalf("%s: %v", line[0], err)
		}
		out[line[1]+line[2]] = value
	}
	return out
}

// changed returns what f added to which time series, and fails when it made new
// ones.
func changed(t testing.TB, m *metrics.Metrics, f func()) map[string]float64 {
	t.Helper()
	before := series(t, m)
	f()
	out := map[string]float64{}
	for name, value := range series(t, m) {
		was, known := before[name]
		if !known {
			t.Errorf("%s is new", name)
		}
		if value != was && !strings.Contains(name, "_bucket{") {
			out[name] = math.Round((value-was)*1e6) / 1e6
		}
	}
	return out
}

func wantChanged(t testing.TB, got map[string]float64, want map[string]float64) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("changed: %v\nwant     %v", got, want)
	}
}

func TestLint(t *testing.T) {
	m := metrics.New("v1.2.3")
	m.Gauge("petcat_catalog_categories", "Categories in the list.", func() float64 { return 7 })
	m.Counter("petcat_keyring_lookups_total", "Questions to the store.", func() float64 { return 8 })
	text := exposition(t, m)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, want := range []string{
		`petcat_build_info{version="v1.2.3"} 1`, "petcat_catalog_categories 7", "petcat_keyring_lookups_total 8",
		"go_goroutines ", "process_open_fds ", "promhttp_metric_handler_errors_total",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		name, isHelp := strings.CutPrefix(line, "# HELP petcat_")
		if isHelp && !strings.HasSuffix(name, ".") {
			t.Errorf("the help is no sentence: %s", line)
		}
	}
}

func TestRequest(t *testing.T) {
	const duration = 250 * time.Millisecond
	for _, c := range []struct {
		name      string
		operation petcat.OperationID
		status    int
		code      petcat.Code
		admitted  bool
		want      map[string]float64
	}{
		{"admitted", petcat.OpListCategories, 200, "", true, map[string]float64{
			`petcat_requests_total{code="200",operation="listCategories"}`: 1, "petcat_admitted_total": 1,
			`petcat_request_duration_seconds_count{operation="listCategories"}`: 1, `petcat_request_duration_seconds_sum{operation="listCategories"}`: 0.25,
		}},
		{"refused", metrics.NoOperation, 429, petcat.CodeRateLimitExceeded, false, map[string]float64{
			`petcat_requests_total{code="429",operation="none"}`: 1, `petcat_refused_total{reason="rate_limit_exceeded"}`: 1,
			`petcat_request_duration_seconds_count{operation="none"}`: 1, `petcat_request_duration_seconds_sum{operation="none"}`: 0.25,
		}},
		{"unknown operation", "dropTables", 200, "", true, map[string]float64{
			`petcat_requests_total{code="200",operation="none"}`: 1, "petcat_admitted_total": 1,
			`petcat_request_duration_seconds_count{operation="none"}`: 1, `petcat_request_duration_seconds_sum{operation="none"}`: 0.25,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := metrics.New("v")
			wantChanged(t, changed(t, m, func() { m.Request(c.operation, c.status, c.code, c.admitted, duration) }), c.want)
		})
	}
}

func TestBansAndCommits(t *testing.T) {
	m := metrics.New("v")
	wantChanged(t, changed(t, m, func() { m.Banned(false); m.Banned(false); m.Banned(true) }), map[string]float64{
		`petcat_bans_total{mode="enforce"}`: 2, `petcat_bans_total{mode="shadow"}`: 1,
	})
	wantChanged(t, changed(t, m, func() { m.Commit(3, time.Millisecond); m.Commit(5, 2*time.Millisecond) }), map[string]float64{
		"petcat_commit_group_size_count": 2, "petcat_commit_group_size_sum": 8,
		"petcat_commit_duration_seconds_count": 2, "petcat_commit_duration_seconds_sum": 0.003,
	})
}

// However callers behave, no time series comes into being: all are there from
// the start, and no label has a value that a caller chose.
func TestCallersMakeNoSeries(t *testing.T) {
	m := metrics.New("v")
	operations := []petcat.OperationID{metrics.NoOperation, petcat.OpListCategories, petcat.OpCreateCategory, "", "chosen-by-a-caller"}
	statuses := []int{200, 201, 204, 304, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 415, 422, 429, 499, 500, 503}
	codes := append(petcat.Codes(), "", "chosen-by-a-caller")
	changed(t, m, func() {
		for _, o := range operations {
			for _, status := range statuses {
				for _, code := range codes {
					m.Request(o, status, code, true, time.Second)
					m.Request(o, status, code, false, time.Hour)
				}
			}
		}
	})
	if text := exposition(t, m); strings.Contains(text, "chosen") {
		t.Error("a label has a value that a caller chose")
	}
}
