package metrics_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/metrics"
)

// exposition returns the body of a scrape.
func exposition(t testing.TB, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

var sample = regexp.MustCompile(`(?m)^(petcat_[a-z_]+(?:\{[^}]*\})?) (\S+)$`)

// series returns the values of petcat's time series that are not zero, without buckets, by name and
// labels.
func series(t testing.TB, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, line := range sample.FindAllStringSubmatch(exposition(t, m), -1) {
		if value, err := strconv.ParseFloat(line[2], 64); err != nil {
			t.Fatalf("%s: %v", line[0], err)
		} else if value != 0 && !strings.Contains(line[1], "_bucket{") && !strings.HasPrefix(line[1], "petcat_build_info") {
			out[line[1]] = value
		}
	}
	return out
}

func TestCounts(t *testing.T) {
	m := metrics.New("1.2.3", "abc")
	m.Request(petcat.OpListCategories, 200, "", true, 250*time.Millisecond)
	m.Request(petcat.OpListCategories, 429, petcat.CodeRateLimitExceeded, false, 0)
	m.Request("", 404, petcat.CodeNotFound, true, 0)
	for _, code := range []petcat.Code{petcat.CodeMissingAPIKey, petcat.CodeKeyBanned, petcat.CodeServiceUnavailable} {
		m.Request("", 401, code, false, 0)
	}
	m.Banned(false)
	m.Banned(true)
	m.Commit(3, time.Millisecond)
	m.Commit(5, 2*time.Millisecond)
	m.Charge(1, time.Second)
	for i := range petcat.AccountID(250) {
		m.Deprecated(petcat.OpListCategories, i%125+1)
	}
	m.Read("petcat_categories", func() float64 { return 7 })
	m.Read("petcat_store_shed_total", func() float64 { return 8 })
	got := series(t, m)
	named := 0
	for name := range got {
		if strings.HasPrefix(name, `petcat_deprecated_requests_total{account="acct_`) {
			named++
			delete(got, name)
		}
	}
	if named != 100 {
		t.Errorf("%d accounts are named", named)
	}
	want := map[string]float64{
		`petcat_requests_total{code="200",operation="listCategories"}`:      1,
		`petcat_requests_total{code="429",operation="listCategories"}`:      1,
		`petcat_requests_total{code="404",operation="none"}`:                1,
		`petcat_requests_total{code="401",operation="none"}`:                3,
		`petcat_request_duration_seconds_count{operation="listCategories"}`: 2,
		`petcat_request_duration_seconds_sum{operation="listCategories"}`:   0.25,
		`petcat_request_duration_seconds_count{operation="none"}`:           4,
		`petcat_allowed_total`:                                                         2,
		`petcat_rejected_total{reason="rate_limit_exceeded"}`:                          1,
		`petcat_rejected_total{reason="missing_api_key"}`:                              1,
		`petcat_rejected_total{reason="key_banned"}`:                                   1,
		`petcat_bans_total{mode="enforce"}`:                                            1,
		`petcat_bans_total{mode="shadow"}`:                                             1,
		`petcat_commit_group_size_count`:                                               2,
		`petcat_commit_group_size_sum`:                                                 8,
		`petcat_commit_duration_seconds_count`:                                         2,
		`petcat_commit_duration_seconds_sum`:                                           0.003,
		`petcat_limiter_duration_seconds_count`:                                        1,
		`petcat_limiter_duration_seconds_sum`:                                          1,
		`petcat_deprecated_requests_total{account="other",operation="listCategories"}`: 50,
		`petcat_categories`:                                                            7,
		`petcat_store_shed_total`:                                                      8,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// TestTotals: the totals are the sums of the time series of all operations.
func TestTotals(t *testing.T) {
	m := metrics.New("1.2.3", "abc")
	m.Request(petcat.OpListCategories, 200, "", true, 250*time.Microsecond)
	m.Request(petcat.OpCreateCategory, 200, "", true, 251*time.Microsecond)
	m.Request(petcat.OpListCategories, 429, petcat.CodeKeyBanned, false, 100*time.Microsecond)
	m.Request("", 401, petcat.CodeInvalidAPIKey, false, time.Minute)
	m.Request("", 503, petcat.CodeServiceUnavailable, false, 2500*time.Millisecond)

	got, err := m.Totals()
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(got.Statuses, func(_ int, n int64) bool { return n == 0 })
	maps.DeleteFunc(got.Reasons, func(_ petcat.Code, n int64) bool { return n == 0 })
	want := metrics.Totals{
		Statuses:  map[int]int64{200: 2, 401: 1, 429: 1, 503: 1},
		Reasons:   map[petcat.Code]int64{petcat.CodeInvalidAPIKey: 1, petcat.CodeKeyBanned: 1},
		Durations: []int64{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	bounds := metrics.DurationBounds()
	if len(bounds) != 14 || bounds[1] != 250*time.Microsecond || bounds[13] != 2500*time.Millisecond {
		t.Errorf("the bounds are %v", bounds)
	}
}

func TestExposition(t *testing.T) {
	text := exposition(t, metrics.New("1.2.3", "abc"))
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	for _, want := range []string{
		`revision="abc",version="1.2.3"} 1`,
		"go_goroutines ",
		"process_open_fds ",
		"promhttp_metric_handler_errors_total",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

var update = flag.Bool("update", false, "write docs/metrics.md")

// TestDocument checks the table of docs/metrics.md, at its end, against the program's. go generate
// writes it.
func TestDocument(t *testing.T) {
	const name = "../../docs/metrics.md"
	document, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(document), "|---|---|\n")
	if !found {
		t.Fatal("docs/metrics.md has no table of two columns")
	}
	var text strings.Builder
	text.WriteString(before + "|---|---|\n")
	for _, row := range metrics.Table() {
		fmt.Fprintf(&text, "| `%s` | %s |\n", row.Name, row.Help)
	}
	if *update {
		if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(text.String(), string(document)); diff != "" && !*update {
		t.Errorf("run go generate ./internal/metrics (-table +document):\n%s", diff)
	}
}

// TestDeploy: the dashboard and the alerts use only existing metrics.
func TestDeploy(t *testing.T) {
	known := map[string]bool{}
	for _, row := range metrics.Table() {
		known[row.Name] = true
	}
	for _, name := range []string{"../../deploy/grafana/petcat.json", "../../deploy/prometheus/alerts.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".json") && !json.Valid(text) {
			t.Errorf("%s is not JSON", name)
		}
		for _, metric := range regexp.MustCompile(`petcat_[a-z_]+`).FindAllString(string(text), -1) {
			if base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(metric, ""); !known[metric] && !known[base] {
				t.Errorf("%s uses the unknown metric %s", name, metric)
			}
		}
	}
}
