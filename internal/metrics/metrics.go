// Package metrics counts what the service does, for Prometheus. It is the only
// importer of the metrics library: the others pass plain values.
//
// It refuses labels whose values callers choose (keys, paths, addresses): the program
// bounds the number of time series, and all of them exist from the start, but for
// those that name accounts (see deprecated). Counters that other requests touch are
// looked up once, at start. It depends on nothing that could be unavailable.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"petcat"
)

// Metrics of one process. Use [New]. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	series   *prometheus.Registry // of what a [Series] keeps: a part of the above

	requests   *prometheus.CounterVec
	operations map[petcat.OperationID]*operation
	admitted   prometheus.Counter
	refused    map[petcat.Code]prometheus.Counter
	bans       map[bool]prometheus.Counter // by shadow
	groups     prometheus.Histogram
	commits    prometheus.Histogram
	charges    prometheus.Histogram
	deprecated *deprecated
}

// operation is what is counted of one operation.
type operation struct {
	answers   [maxStatus]prometheus.Counter // by status
	durations prometheus.Observer
}

// NoOperation labels requests that reach no operation: without a valid key,
// over a quota, or to a path that does not exist.
const NoOperation petcat.OperationID = "none"

// The metrics that a [Series] keeps.
const (
	requestsTotal   = "petcat_requests_total"
	refusedTotal    = "petcat_refused_total"
	requestDuration = "petcat_request_duration_seconds"
)

// maxStatus is one more than the highest HTTP status.
const maxStatus = 600

// statuses are those that the API answers with, and 499 for clients that disconnected before.
var statuses = [...]int{200, 201, 204, 304, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 415, 422, 429, 499, 500, 503} //nolint:gochecknoglobals // a table that nobody changes

// refusals are the codes that refuse a caller, as opposed to a request.
var refusals = [...]petcat.Code{ //nolint:gochecknoglobals // a table that nobody changes
	petcat.CodeMissingAPIKey, petcat.CodeInvalidAPIKey, petcat.CodeExpiredAPIKey, petcat.CodeRevokedAPIKey,
	petcat.CodeDisabledAPIKey, petcat.CodeRateLimitExceeded, petcat.CodeDailyQuotaExceeded,
	petcat.CodeKeyBanned, petcat.CodeTooManyFailedAttempts,
}

// New returns metrics for a build of the program.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		series:   prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: requestsTotal,
			Help: "Requests answered under /v1, by operation and HTTP status.",
		}, []string{"operation", "code"}),
		admitted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "petcat_admitted_total",
			Help: "Requests that were charged to an account.",
		}),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "petcat_commit_group_size",
			Help:    "Writes that shared one commit.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256},
		}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "petcat_commit_duration_seconds",
			Help:    "Time that a commit took, from its first statement until it was on disk.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 15), // 0.1 ms to 1.6 s
		}),
		charges: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "petcat_limiter_duration_seconds",
			Help:    "Time that the database took to count up to 64 requests. Empty if requests are counted in memory.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 10), // 0.1 ms to 51 ms
		}),
		operations: make(map[petcat.OperationID]*operation),
		refused:    make(map[petcat.Code]prometheus.Counter),
		bans:       make(map[bool]prometheus.Counter),
		deprecated: newDeprecated(),
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.admitted, m.groups, m.commits, m.charges, m.deprecated.calls,
	)
	m.resolve()
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "petcat_build_info", Help: "1; the label is the running version.",
	}, []string{"version"})
	info.WithLabelValues(version).Set(1)
	m.registry.MustRegister(info)
	return m
}

// resolve makes every child that a request may need.
func (m *Metrics) resolve() {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    requestDuration,
		Help:    "Time from a request's headers to the end of its answer, by operation.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 12), // 0.1 ms to 2.4 s
	}, []string{"operation"})
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: refusedTotal,
		Help: "Requests whose caller was refused, by reason.",
	}, []string{"reason"})
	bans := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "petcat_bans_total",
		Help: "Bans imposed; those with mode shadow were only counted.",
	}, []string{"mode"})
	m.registry.MustRegister(durations, refused, bans)
	m.series.MustRegister(m.requests, durations, refused)

	operations := []petcat.OperationID{NoOperation}
	for _, o := range petcat.Operations() {
		operations = append(operations, o.ID)
	}
	for _, id := range operations {
		o := &operation{durations: durations.WithLabelValues(string(id))}
		for _, status := range statuses {
			o.answers[status] = m.requests.WithLabelValues(string(id), strconv.Itoa(status))
		}
		m.operations[id] = o
	}
	for _, code := range refusals {
		m.refused[code] = refused.WithLabelValues(string(code))
	}
	m.bans[false] = bans.WithLabelValues(string(petcat.EnforceBans))
	m.bans[true] = bans.WithLabelValues(string(petcat.ShadowBans))
}

// Request counts one answered request. Code is "" unless the answer is an
// error.
func (m *Metrics) Request(id petcat.OperationID, status int, code petcat.Code, admitted bool, took time.Duration) {
	o, ok := m.operations[id]
	if !ok {
		id, o = NoOperation, m.operations[NoOperation]
	}
	if status >= 0 && status < maxStatus && o.answers[status] != nil {
		o.answers[status].Inc()
	} else {
		m.requests.WithLabelValues(string(id), strconv.Itoa(status)).Inc()
	}
	o.durations.Observe(took.Seconds())
	if admitted {
		m.admitted.Inc()
		return
	}
	if c, ok := m.refused[code]; ok {
		c.Inc()
	}
}

// Banned counts a ban that was imposed.
func (m *Metrics) Banned(shadow bool) { m.bans[shadow].Inc() }

// Commit counts one commit of a number of writes.
func (m *Metrics) Commit(writes int, took time.Duration) {
	m.groups.Observe(float64(writes))
	m.commits.Observe(took.Seconds())
}

// Charge notes how long the database took to count a group of requests.
func (m *Metrics) Charge(_ int, took time.Duration) { m.charges.Observe(took.Seconds()) }

// Gauge adds a value that is read when the metrics are asked for.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counter adds a count that is read when the metrics are asked for.
func (m *Metrics) Counter(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// Handler serves the metrics in the formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
