package server

import (
	"context"
	"log/slog"

	"petcat"
	"petcat/internal/clusterlimit"
	"petcat/internal/config"
	"petcat/internal/counters"
	"petcat/internal/metrics"
	"petcat/internal/pgcounters"
	"petcat/internal/postgres"
	"petcat/internal/ratelimit"
	"petcat/internal/rediscounters"
)

// limiter decides which requests are admitted, in memory or on shared counters.
type limiter interface {
	ratelimit.Limiter
	// problem says what is wrong, "" if nothing is.
	problem() string
	registerMetrics(m *metrics.Metrics)
}

const cannotSave = "day counts cannot be saved; counting in memory"

// openLimiter opens the limiter that the settings name. It calls banned with each ban
// that it declares.
func (n *Node) openLimiter(ctx context.Context, banned func(petcat.Ban)) (limiter, error) {
	if n.settings.CountsInMemory() {
		return memoryLimiter{ratelimit.NewMemory(ratelimit.Options{
			Clock: n.limitsClock, Days: n.backend, Bans: n.settings.Bans, Banned: banned, Logger: n.log.Logger,
		})}, nil
	}
	count, err := openCounters(ctx, n.settings, n.backend.Dataset(), n.log.Logger)
	if err != nil && n.settings.CountsInDatabase() {
		return nil, postgres.Explain(err, n.settings.Database) // the store was opened with the same setting
	}
	if err != nil {
		return nil, config.Errorf("%w; see --limiter (PETCAT_LIMITER)", err)
	}
	l := clusterlimit.New(ctx, clusterlimit.Options{
		Counters: count, Clock: n.clock, Days: n.backend, Bans: n.settings.Bans, Banned: banned,
		Membership: n.membership.current, Logger: n.log.Logger, Observe: n.metrics.Limiter,
	})
	n.membership.reportCutOff(l.CutOff)
	return sharedLimiter{l, count}, nil
}

// memoryLimiter counts in this process.
type memoryLimiter struct{ *ratelimit.Memory }

func (l memoryLimiter) problem() string {
	if l.Stats().Degraded {
		return cannotSave
	}
	return ""
}

func (l memoryLimiter) registerMetrics(m *metrics.Metrics) { registerAccounts(m, l.Stats) }

func registerAccounts(m *metrics.Metrics, stats func() ratelimit.Stats) {
	m.Gauge("petcat_limiter_accounts", "Accounts whose counts are in memory.", func() float64 { return float64(stats().Accounts) })
}

// sharedLimiter counts on counters that all nodes share.
type sharedLimiter struct {
	*clusterlimit.Limiter

	counters closingCounters
}

// closingCounters are shared counters with the connections that they keep.
type closingCounters interface {
	counters.Counters
	Close()
}

// limiterNamespace begins the name of each key that petcat keeps in Redis. The dataset name
// follows, because accounts have the same numbers in production and in staging.
const limiterNamespace = "petcat:"

// openCounters connects to the shared counters that the settings name.
func openCounters(ctx context.Context, s config.Settings, dataset string, logger *slog.Logger) (closingCounters, error) {
	if s.CountsInDatabase() {
		return pgcounters.New(ctx, pgcounters.Options{URL: s.Database, Logger: logger})
	}
	return rediscounters.New(ctx, rediscounters.Options{
		URL: s.Limiter, Namespace: limiterNamespace + dataset, AllowEviction: s.LimiterAllowEviction, Logger: logger,
	})
}

func (l sharedLimiter) problem() string {
	switch {
	case l.CutOff() != 0:
		return "the shared counters are unavailable; this node enforces its share of each quota"
	case l.Stats().Degraded:
		return cannotSave
	default:
		return ""
	}
}

func (l sharedLimiter) registerMetrics(m *metrics.Metrics) {
	registerAccounts(m, func() ratelimit.Stats { return l.Stats().Memory })
	m.Counter("petcat_limiter_shared_total", "Requests that the shared counters decided.", func() float64 { return float64(l.Stats().Shared) })
	m.Counter("petcat_limiter_local_total", "Requests that this node decided within its share, while the shared counters were unavailable.", func() float64 { return float64(l.Stats().Local) })
	m.Counter("petcat_limiter_failures_total", "Calls that the shared counters did not answer in time.", func() float64 { return float64(l.Stats().Failures) })
}

// Close closes the counters after the limiter.
func (l sharedLimiter) Close(ctx context.Context) error {
	defer l.counters.Close()
	return l.Limiter.Close(ctx)
}
