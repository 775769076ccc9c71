// Package metrics has the Prometheus metrics of the service. It is the only importer of the metrics
// library; other packages pass plain values.
//
// Clients cannot choose a label's value (keys, paths, addresses), so the number of time series
// is bounded.
package metrics

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/petcat-api/petcat"
)

//go:generate go test . -run=TestDocument -update

// Metrics are the metrics of one process. Use [New]. It is safe for concurrent use.
type Metrics struct {
	build    *prometheus.GaugeVec
	registry *prometheus.Registry
	own      *prometheus.Registry // requests, rejected and durations, which Totals reads
	make     promauto.Factory

	requests   *prometheus.CounterVec
	durations  *prometheus.HistogramVec
	deprecated *prometheus.CounterVec
	allowed    prometheus.Counter
	admin      *prometheus.CounterVec
	rejected   map[petcat.Code]prometheus.Counter
	bans       *prometheus.CounterVec
	groups     prometheus.Observer
	commits    prometheus.Observer
	charges    prometheus.Observer

	mu        sync.Mutex
	responses map[response]counters // guarded by mu, like all below
	callers   map[string]bool       // accounts that call deprecated operations
}

// response identifies the counters of responses.
type response struct {
	operation petcat.OperationID
	status    int
}

// counters count the responses of one operation with one status.
type counters struct {
	requests  prometheus.Counter
	durations prometheus.Observer
}

// NoOperation labels requests that match no operation, such as those to an unknown path.
const NoOperation petcat.OperationID = "none"

// namedAccounts is the maximum number of accounts with a separate count of deprecated requests. Each
// is a time series on every node. The access log has all accounts.
const namedAccounts = 100

// New returns metrics for a build of the program.
func New(version, revision string) *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m := &Metrics{
		registry:  registry,
		own:       prometheus.NewRegistry(),
		make:      promauto.With(registry),
		responses: map[response]counters{},
		callers:   map[string]bool{},
	}
	m.build = m.newBuild(version, revision)
	m.SetNode("")
	m.requests = m.newCounters("petcat_requests_total", "operation", "code")
	m.durations = m.newHistograms("petcat_request_duration_seconds", durationBuckets(), "operation")
	m.deprecated = m.newCounters("petcat_deprecated_requests_total", "operation", "account")
	m.admin = m.newCounters("petcat_admin_requests_total", "route", "code")
	m.allowed = m.newCounters("petcat_allowed_total").WithLabelValues()
	m.rejected = m.newRejected()
	m.own.MustRegister(m.requests, m.durations)
	m.bans = m.newCounters("petcat_bans_total", "mode")
	m.groups = m.newHistograms("petcat_commit_group_size", groupBuckets()).WithLabelValues()
	m.commits = m.newHistograms("petcat_commit_duration_seconds", durationBuckets()).WithLabelValues()
	m.charges = m.newHistograms("petcat_limiter_duration_seconds", durationBuckets()).WithLabelValues()
	// An alert detects the first failure and the first ban only if the series existed before.
	for _, o := range append(petcat.Operations(), petcat.Operation{ID: NoOperation}) {
		m.count(response{o.ID, http.StatusInternalServerError})
		m.count(response{o.ID, http.StatusServiceUnavailable})
	}
	m.bans.WithLabelValues(string(petcat.EnforceBans))
	m.bans.WithLabelValues(string(petcat.ShadowBans))
	return m
}

// durationBuckets are in seconds.
func durationBuckets() []float64 {
	return []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}
}

func groupBuckets() []float64 { return []float64{1, 2, 4, 8, 16, 32, 64, 128, 256} }

func (m *Metrics) newBuild(version, revision string) *prometheus.GaugeVec {
	const name = "petcat_build_info"
	return m.make.NewGaugeVec(prometheus.GaugeOpts{
		Name: name,
		Help: help(name),
		ConstLabels: prometheus.Labels{
			"version":   version,
			"revision":  revision,
			"goversion": runtime.Version(),
		},
	}, []string{"node"})
}

// newRejected returns the counters of rejected requests.
func (m *Metrics) newRejected() map[petcat.Code]prometheus.Counter {
	vec := m.newCounters("petcat_rejected_total", "reason")
	m.own.MustRegister(vec)
	rejected := map[petcat.Code]prometheus.Counter{}
	for _, code := range []petcat.Code{
		petcat.CodeMissingAPIKey,
		petcat.CodeInvalidAPIKey,
		petcat.CodeExpiredAPIKey,
		petcat.CodeRevokedAPIKey,
		petcat.CodeDisabledAPIKey,
		petcat.CodeRateLimitExceeded,
		petcat.CodeDailyQuotaExceeded,
		petcat.CodeKeyBanned,
		petcat.CodeTooManyFailedAttempts,
	} {
		rejected[code] = vec.WithLabelValues(string(code))
	}
	return rejected
}

// SetNode sets the node's label.
func (m *Metrics) SetNode(label string) {
	m.build.Reset()
	m.build.WithLabelValues(label).Set(1)
}

func (m *Metrics) newCounters(name string, labels ...string) *prometheus.CounterVec {
	return m.make.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help(name)}, labels)
}

func (m *Metrics) newHistograms(name string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return m.make.NewHistogramVec(prometheus.HistogramOpts{
		Name:    name,
		Help:    help(name),
		Buckets: buckets,
	}, labels)
}

// Request counts a request. code is "" unless the response is an error.
func (m *Metrics) Request(id petcat.OperationID, status int, code petcat.Code, allowed bool, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.count(response{cmp.Or(id, NoOperation), status})
	c.requests.Inc()
	c.durations.Observe(took.Seconds())
	if allowed {
		m.allowed.Inc()
	} else if rejected := m.rejected[code]; rejected != nil {
		rejected.Inc()
	}
}

// count returns the counters of a response. They are cached, because looking up metrics by their
// labels is slow. The caller holds mu.
func (m *Metrics) count(a response) counters {
	c, known := m.responses[a]
	if !known {
		operation := string(a.operation)
		c = counters{
			requests:  m.requests.WithLabelValues(operation, strconv.Itoa(a.status)),
			durations: m.durations.WithLabelValues(operation),
		}
		m.responses[a] = c
	}
	return c
}

// AdminRequest counts a request for the console or the management API. route must be one of a bounded
// number; status is 0 if the response was aborted.
func (m *Metrics) AdminRequest(route string, status int) {
	m.admin.WithLabelValues(route, strconv.Itoa(status/100)+"xx").Inc()
}

// Totals are the numbers of requests since the start.
type Totals struct {
	Statuses  map[int]int64         // by status
	Reasons   map[petcat.Code]int64 // of rejected requests
	Durations []int64               // by the buckets of [DurationBounds]; the last one has no bound
}

// DurationBounds returns the upper bounds of the duration buckets.
func DurationBounds() []time.Duration {
	var bounds []time.Duration
	for _, seconds := range durationBuckets() {
		bounds = append(bounds, time.Duration(math.Round(seconds*float64(time.Second))))
	}
	return bounds
}

// Totals returns the current totals.
func (m *Metrics) Totals() (Totals, error) {
	m.mu.Lock() // each request is in all totals, or in none
	families, err := m.own.Gather()
	m.mu.Unlock()
	if err != nil {
		return Totals{}, fmt.Errorf("read the metrics of requests: %w", err)
	}
	t := Totals{
		Statuses:  map[int]int64{},
		Reasons:   map[petcat.Code]int64{},
		Durations: make([]int64, len(durationBuckets())+1),
	}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			label := series.GetLabel()[0].GetValue() // the first by name
			switch family.GetName() {
			case "petcat_requests_total":
				status, _ := strconv.Atoi(label) // count made it
				t.Statuses[status] += int64(series.GetCounter().GetValue())
			case "petcat_rejected_total":
				t.Reasons[petcat.Code(label)] = int64(series.GetCounter().GetValue())
			case "petcat_request_duration_seconds":
				var below uint64
				for i, bucket := range series.GetHistogram().GetBucket() {
					t.Durations[i] += int64(bucket.GetCumulativeCount() - below)
					below = bucket.GetCumulativeCount()
				}
				t.Durations[len(t.Durations)-1] += int64(series.GetHistogram().GetSampleCount() - below)
			}
		}
	}
	return t, nil
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
	mode := petcat.EnforceBans
	if shadow {
		mode = petcat.ShadowBans
	}
	m.bans.WithLabelValues(string(mode)).Inc()
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
