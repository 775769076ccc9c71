// Package metrics counts what the service does, for Prometheus. It is the only importer of the
// metrics library: the others pass plain values.
//
// It refuses labels whose values callers choose (keys, paths, addresses), so the program bounds
// the number of time series. It depends on nothing that could be unavailable.
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

// Metrics of one process. Use [New]. It is safe for concurrent use.
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

// answer is what a request got.
type answer struct {
	operation petcat.OperationID
	status    int
}

// NoOperation labels requests that reach no operation, such as to a path that does not exist.
const NoOperation petcat.OperationID = "none"

// namedAccounts is how many accounts are named in the counts of deprecated operations. Each is a
// time series of every node, and accounts are without number: past this many, the access log says
// who calls.
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
	// Alerts see the first failure only if its series was there before.
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

// SetNode sets the label of the node.
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

// Request counts one answered request. Code is "" unless the answer is an error.
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

// count returns what counts an answer. To look up the metrics by their labels each time would
// cost each request more. The caller holds mu.
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

// Banned counts a ban that was imposed.
func (m *Metrics) Banned(shadow bool) {
	m.bans.WithLabelValues(string(map[bool]petcat.BanMode{false: petcat.EnforceBans, true: petcat.ShadowBans}[shadow])).Inc()
}

// Commit counts one commit of a number of writes.
func (m *Metrics) Commit(writes int, took time.Duration) {
	m.groups.Observe(float64(writes))
	m.commits.Observe(took.Seconds())
}

// Charge notes how long the database took to count a group of requests.
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

// help returns the help of a metric. It panics for one that is not in the table.
func help(name string) string {
	return Table()[slices.IndexFunc(Table(), func(row [2]string) bool { return row[0] == name })][1]
}

// Table returns the names of all metrics with their help, in the order of docs/metrics.md.
func Table() [][2]string {
	return [][2]string{
		{"petcat_ready", "1 while requests should be sent here, as /readyz says."},
		{"petcat_requests_total", "Requests answered under /v1, by operation and HTTP status; 499: the client went away before the response."},
		{"petcat_request_duration_seconds", "Time from a request's headers to the end of its response, by operation."},
		{"petcat_requests_in_flight", "Requests that are being answered."},
		{"petcat_admitted_total", "Requests that were charged to an account."},
		{"petcat_refused_total", "Requests whose caller was refused, by reason."},
		{"petcat_deprecated_requests_total", "Requests for deprecated operations, those after the sunset included; past 100 accounts, other."},
		{"petcat_bans_total", "Bans imposed; those with mode shadow were only counted."},
		{"petcat_commit_group_size", "Writes that shared one commit."},
		{"petcat_commit_duration_seconds", "Time that a commit took, from its first statement until it was on disk."},
		{"petcat_categories", "Categories in the list."},
		{"petcat_nodes", "Nodes that serve, this one included."},
		{"petcat_store_up", "1 while the store can be read and written, as /readyz says."},
		{"petcat_store_queue", "Writes that wait."},
		{"petcat_store_shed_total", "Writes refused because too many were waiting, in total or for their account."},
		{"petcat_store_free_bytes", "With SQLite: free space on the disk of the data; without any, creates get 503."},
		{"petcat_store_disk_bytes", "With SQLite: size of the disk of the data."},
		{"petcat_store_wal_bytes", "With SQLite: size of the write-ahead log, a few MB unless something reads for long."},
		{"petcat_store_connections", "With PostgreSQL: connections to the database."},
		{"petcat_store_connections_in_use", "With PostgreSQL: connections to the database that are in use."},
		{"petcat_clock_ahead_of_database_seconds", "With PostgreSQL: how far this node's clock is ahead of the database's; negative: behind."},
		{"petcat_catalog_age_seconds", "With PostgreSQL: time since the list was last known to be complete."},
		{"petcat_catalog_freshness_queries_total", "With PostgreSQL: queries whether the list is complete."},
		{"petcat_catalog_stale_total", "With PostgreSQL: stale lists served while the database was unavailable."},
		{"petcat_limiter_silent", "1 while the database does not count requests and this node counts in memory, as /readyz says."},
		{"petcat_limiter_local_total", "Requests that this node decided from memory because the database did not count them."},
		{"petcat_limiter_overloaded_total", "Requests answered with 503 because the database could not count them in time."},
		{"petcat_limiter_duration_seconds", "With PostgreSQL: time that requests waited for the database to count them."},
		{"petcat_keyring_keys", "Keys in memory."},
		{"petcat_keyring_trusted", "1 while the keys in memory are trusted: changes were read in the last 30 seconds."},
		{"petcat_usage_unsaved_seconds", "Since when something that was counted is not yet in the usage history; about 1 s."},
		{"petcat_backup_interval_seconds", "Time from one scheduled backup to the next."},
		{"petcat_backup_last_success_timestamp_seconds", "When the data of the last verified backup was copied, by whichever node, in Unix time; 0: never."},
		{"petcat_backup_duration_seconds", "Time that the last verified backup took, with its verification."},
		{"petcat_backup_size_bytes", "Size of the last verified backup."},
		{"petcat_backup_failures_total", "Scheduled backups of this node that failed."},
		{"petcat_connections", "Open connections of the API."},
		{"petcat_connections_max", "How many connections of the API may be open; beyond them, new ones wait."},
		{"petcat_tls_certificate_expiry_timestamp_seconds", "When the certificate that is served expires, in Unix time."},
		{"petcat_log_writes_lost_total", "Log writes that failed, and log lines dropped because a write hung."},
		{"petcat_build_info", "1; the labels say what runs."},
	}
}
