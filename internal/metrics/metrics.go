// Package metrics has the Prometheus metrics of the service. It is the only importer of the metrics
// library; other packages pass plain values.
//
// No label has a value that callers choose (keys, paths, addresses), so the number of time series
// is bounded.
package metrics

import (
	"cmp"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"petcat"
)

//go:generate go test . -run=TestDocument -update

// Metrics are the metrics of one process. Use [New]. It is safe for concurrent use.
type Metrics struct {
	build    *prometheus.GaugeVec
	registry *prometheus.Registry
	make     promauto.Factory

	requests, deprecated, bans *prometheus.CounterVec
	durations                  *prometheus.HistogramVec
	refused                    map[petcat.Code]prometheus.Counter
	admitted                   prometheus.Counter
	groups, commits, charges   prometheus.Observer

	mu      sync.Mutex
	answers map[answer]func(seconds float64) // guarded by mu, like all below
	callers map[string]bool                  // accounts that call deprecated operations
}

// answer identifies the counters of a response.
type answer struct {
	operation petcat.OperationID
	status    int
}

// NoOperation labels requests that match no operation, such as those to an unknown path.
const NoOperation petcat.OperationID = "none"

// namedAccounts is the maximum number of accounts with their own count of deprecated requests. Each
// is a time series on every node. The access log has all accounts.
const namedAccounts = 100

// New returns metrics for a build of the program.
func New(version, revision string) *Metrics {
	registry := prometheus.NewRegistry()
	m := &Metrics{
		registry: registry, make: promauto.With(registry), refused: map[petcat.Code]prometheus.Counter{},
		answers: map[answer]func(float64){}, callers: map[string]bool{},
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.requests, m.deprecated, m.bans = m.counters("petcat_requests_total", "operation", "code"), m.counters("petcat_deprecated_requests_total", "operation", "account"), m.counters("petcat_bans_total", "mode")
	m.bans.WithLabelValues(string(petcat.EnforceBans))
	m.bans.WithLabelValues(string(petcat.ShadowBans))
	m.admitted = m.counters("petcat_admitted_total").WithLabelValues()
	m.build = m.make.NewGaugeVec(prometheus.GaugeOpts{
		Name: "petcat_build_info", Help: help("petcat_build_info"),
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	}, []string{"node"})
	m.SetNode("")
	seconds := []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}
	m.durations = m.histograms("petcat_request_duration_seconds", seconds, "operation")
	m.groups = m.histograms("petcat_commit_group_size", []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}).WithLabelValues()
	m.commits = m.histograms("petcat_commit_duration_seconds", seconds).WithLabelValues()
	m.charges = m.histograms("petcat_limiter_duration_seconds", seconds).WithLabelValues()
	// An alert detects the first failure only if the series existed before.
	for _, o := range append(petcat.Operations(), petcat.Operation{ID: NoOperation}) {
		m.count(answer{o.ID, http.StatusInternalServerError})
		m.count(answer{o.ID, http.StatusServiceUnavailable})
	}
	refused := m.counters("petcat_refused_total", "reason")
	for _, code := range []petcat.Code{
		petcat.CodeMissingAPIKey, petcat.CodeInvalidAPIKey, petcat.CodeExpiredAPIKey, petcat.CodeRevokedAPIKey, petcat.CodeDisabledAPIKey,
		petcat.CodeRateLimitExceeded, petcat.CodeDailyQuotaExceeded, petcat.CodeKeyBanned, petcat.CodeTooManyFailedAttempts,
	} {
		m.refused[code] = refused.WithLabelValues(string(code))
	}
	return m
}

// SetNode sets the node's label.
func (m *Metrics) SetNode(label string) {
	m.build.Reset()
	m.build.WithLabelValues(label).Set(1)
}

func (m *Metrics) counters(name string, labels ...string) *prometheus.CounterVec {
	return m.make.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help(name)}, labels)
}

func (m *Metrics) histograms(name string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return m.make.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help(name), Buckets: buckets}, labels)
}

// Request counts a request. code is "" unless the response is an error.
func (m *Metrics) Request(id petcat.OperationID, status int, code petcat.Code, admitted bool, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count(answer{cmp.Or(id, NoOperation), status})(took.Seconds())
	refused := m.refused[code]
	if admitted {
		m.admitted.Inc()
	} else if refused != nil {
		refused.Inc()
	}
}

// count returns a function that counts a response. It is cached, because looking up metrics by
// their labels is slow. The caller holds mu.
func (m *Metrics) count(a answer) func(seconds float64) {
	if m.answers[a] == nil {
		requests, durations := m.requests.WithLabelValues(string(a.operation), strconv.Itoa(a.status)), m.durations.WithLabelValues(string(a.operation))
		m.answers[a] = func(seconds float64) { requests.Inc(); durations.Observe(seconds) }
	}
	return m.answers[a]
}

// Deprecated counts a request for a deprecated operation.
func (m *Metrics) Deprecated(id petcat.OperationID, account petcat.AccountID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	label := account.String()
	if m.callers[label] || len(m.callers) < namedAccounts {
		m.callers[label] = true
	} else {
		label = "other"
	}
	m.deprecated.WithLabelValues(string(id), label).Inc()
}

// Banned counts a new ban.
func (m *Metrics) Banned(shadow bool) {
	m.bans.WithLabelValues(string(map[bool]petcat.BanMode{false: petcat.EnforceBans, true: petcat.ShadowBans}[shadow])).Inc()
}

// Commit counts a commit of several writes.
func (m *Metrics) Commit(writes int, took time.Duration) {
	m.groups.Observe(float64(writes))
	m.commits.Observe(took.Seconds())
}

// Charge records how long the database took to count a group of requests.
func (m *Metrics) Charge(_ int, took time.Duration) { m.charges.Observe(took.Seconds()) }

// Read adds a metric whose value is read at each scrape: a counter if its name ends with
// _total, else a gauge.
func (m *Metrics) Read(name string, read func() float64) {
	if strings.HasSuffix(name, "_total") {
		m.make.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help(name)}, read)
	} else {
		m.make.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help(name)}, read)
	}
}

// Gatherer returns all metrics, for other protocols.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Handler serves the metrics in the formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// help returns the help of a metric. It panics if the metric is not in the table.
func help(name string) string {
	return Table()[slices.IndexFunc(Table(), func(row [2]string) bool { return row[0] == name })][1]
}

// Table returns the names and help of all metrics, in the order of docs/metrics.md.
func Table() [][2]string {
	return [][2]string{
		{"petcat_ready", "1 while the node is ready for requests, as in /readyz."},
		{"petcat_requests_total", "Requests answered under /v1, by operation and HTTP status; 499: the client disconnected before the response."},
		{"petcat_request_duration_seconds", "Time from the request headers to the end of the response, by operation."},
		{"petcat_requests_in_flight", "Requests in flight."},
		{"petcat_admitted_total", "Requests counted against an account's quotas."},
		{"petcat_refused_total", "Requests rejected because of the key or a limit, by reason."},
		{"petcat_deprecated_requests_total", "Requests for deprecated operations, also after their sunset, by operation and account; after the first 100 accounts, the label is other."},
		{"petcat_bans_total", "Bans, by mode; shadow bans are not enforced."},
		{"petcat_commit_group_size", "Writes per commit."},
		{"petcat_commit_duration_seconds", "Duration of a commit, from its first statement until it is on disk."},
		{"petcat_categories", "Categories in the list."},
		{"petcat_nodes", "Running nodes, including this one."},
		{"petcat_store_up", "1 while the store can be read and written, as in /readyz."},
		{"petcat_store_queue", "Queued writes."},
		{"petcat_store_shed_total", "Writes rejected because the queue was full, in total or for the account."},
		{"petcat_store_free_bytes", "With SQLite: free space on the data disk; if the disk is full, creates get 503."},
		{"petcat_store_disk_bytes", "With SQLite: size of the data disk."},
		{"petcat_store_wal_bytes", "With SQLite: size of the write-ahead log; normally a few MB, more during a long read."},
		{"petcat_store_connections", "With PostgreSQL: open connections to the database."},
		{"petcat_store_connections_in_use", "With PostgreSQL: connections to the database in use."},
		{"petcat_clock_ahead_of_database_seconds", "With PostgreSQL: offset of this node's clock from the database's; negative if it is behind."},
		{"petcat_catalog_age_seconds", "With PostgreSQL: time since the list was last known to be complete."},
		{"petcat_catalog_freshness_queries_total", "With PostgreSQL: queries that check whether the list is complete."},
		{"petcat_catalog_stale_total", "With PostgreSQL: stale lists served while the database was unavailable."},
		{"petcat_limiter_silent", "1 while the database does not count requests and this node counts them in memory, as in /readyz."},
		{"petcat_limiter_local_total", "Requests counted in memory because the database did not count them."},
		{"petcat_limiter_overloaded_total", "Requests that got 503 because the database did not count them in time."},
		{"petcat_limiter_duration_seconds", "With PostgreSQL: time that the database took to count a group of requests."},
		{"petcat_keyring_keys", "Keys in memory."},
		{"petcat_keyring_trusted", "1 while the keys in memory are trusted, because changes were read in the last 30 seconds."},
		{"petcat_usage_unsaved_seconds", "Age of the oldest count that is not yet in the usage history; normally about 1 s."},
		{"petcat_backup_interval_seconds", "Interval between scheduled backups."},
		{"petcat_backup_last_success_timestamp_seconds", "Unix time of the data in the last verified backup of any node; 0 if there is none."},
		{"petcat_backup_duration_seconds", "Duration of the last verified backup, including its verification."},
		{"petcat_backup_size_bytes", "Size of the last verified backup."},
		{"petcat_backup_failures_total", "Failed scheduled backups of this node."},
		{"petcat_connections", "Open connections of the API."},
		{"petcat_connections_max", "Maximum number of open connections of the API; further connections wait."},
		{"petcat_tls_certificate_expiry_timestamp_seconds", "Unix time at which the served certificate expires."},
		{"petcat_log_writes_lost_total", "Failed log writes, and log lines dropped while a write hung."},
		{"petcat_build_info", "1, with the version, revision, Go version and node as labels."},
	}
}
