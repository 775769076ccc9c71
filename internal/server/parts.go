package server

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clientnet"
	"github.com/petcat-api/petcat/internal/console"
	"github.com/petcat-api/petcat/internal/keyring"
	"github.com/petcat-api/petcat/internal/metrics"
	"github.com/petcat-api/petcat/internal/ratelimit"
	"github.com/petcat-api/petcat/internal/store"
	"github.com/petcat-api/petcat/internal/tracing"
	"github.com/petcat-api/petcat/internal/usage"
)

// base is what every part of a node needs. Its methods make the parts.
type base struct {
	Options

	id       string // random, of this process
	metrics  *metrics.Metrics
	proxies  *clientnet.Proxies
	lifetime *lifetime
	failed   chan error // receives the error of a failed listener
}

// parts are the parts of a node, which its handlers use.
type parts struct {
	base

	sockets *sockets
	state   *state
	data    *data
	tracing *tracing.Tracing // nil if disabled
	usage   *usage.Meter
	limiter *ratelimit.Limiter
	keyring *keyring.Keyring
	history *console.History
	doors   doors

	inFlight atomic.Int64 // API requests
}

// startTracing starts to send traces and metrics if the environment names a collector.
func (b base) startTracing(ctx context.Context, deployed petcat.Environment) (*tracing.Tracing, error) {
	t, err := tracing.Start(ctx, tracing.Options{
		Environ:  b.Environ,
		Metrics:  b.metrics.Gatherer(),
		Version:  b.Version,
		Node:     b.id,
		Deployed: string(deployed),
		Logger:   b.Log.Logger,
	})
	if err != nil {
		return nil, err
	}
	b.lifetime.onClose(func(ctx context.Context) error {
		t.Close(ctx)
		return nil
	})
	return t, nil
}

// recordUsage starts to write the usage history. The first flush is before any request is allowed,
// so that the history knows this node and shows a gap if it is killed.
func (b base) recordUsage(ctx context.Context, d *data) *usage.Meter {
	meter := usage.New(usage.Options{
		Node:   b.id,
		Clock:  b.Clock,
		Logger: b.Log.Logger,
		Detail: b.Settings.UsageDetail,
	})
	meter.Open(d.store)
	meter.Flush(ctx)
	b.lifetime.run(meter.Run)
	b.lifetime.onClose(func(ctx context.Context) error {
		if d.db.Err() != nil {
			limited, cancel := context.WithTimeout(ctx, failedTimeout)
			defer cancel()
			ctx = limited
		}
		meter.Close(ctx)
		return nil
	})
	b.metrics.Read("petcat_usage_unsaved_seconds", func() float64 { return meter.Unsaved().Seconds() })
	return meter
}

// sweepInterval is the interval at which the limiter drops accounts of past days.
const sweepInterval = 10 * time.Minute

// limitRequests starts the limiter. With SQLite it counts in memory, with PostgreSQL in the
// database.
func (b base) limitRequests(d *data) *ratelimit.Limiter {
	limiter := ratelimit.New(ratelimit.Options{
		Clock:     b.Clock,
		Logger:    b.Log.Logger,
		Counters:  d.counters,
		DayUsed:   d.store.DayUsed,
		NearQuota: b.noteQuotas(d.store).Note,
		Observe:   b.metrics.Charge,
		BanMode:   b.Settings.Bans,
		SaveBan:   d.store.SaveBan,
		Banned:    b.banned,
	})
	b.lifetime.every(sweepInterval, func(context.Context) { limiter.Sweep() })
	b.lifetime.onClose(func(context.Context) error {
		limiter.Close()
		return nil
	})
	b.metrics.Read("petcat_limiter_silent", func() float64 { return gauge(limiter.Err() != nil) })
	b.metrics.Read("petcat_limiter_local_total", func() float64 { return float64(limiter.Local.Load()) })
	b.metrics.Read("petcat_limiter_overloaded_total", func() float64 { return float64(limiter.Overloaded.Load()) })
	b.metrics.Read("petcat_limiter_failed_total", func() float64 { return float64(limiter.Failed.Load()) })
	return limiter
}

// banned counts and logs a new ban.
func (b base) banned(ban petcat.Ban) {
	b.metrics.Banned(ban.Shadow)
	b.Log.Info("key banned",
		"key", ban.Key,
		"account", ban.Account,
		"level", ban.Level,
		"ends_at", ban.EndsAt,
		"early_retries", ban.EarlyRetries,
		"shadow", ban.Shadow)
}

// followAccess loads the keys and bans, and starts to follow the changes of other processes.
func (b base) followAccess(
	ctx context.Context,
	s *store.Store,
	limiter *ratelimit.Limiter,
) (*keyring.Keyring, error) {
	keys, err := keyring.Load(ctx, keyring.Options{
		Environment: s.Environment(),
		Store:       s,
		Clock:       b.Clock,
		Logger:      b.Log.Logger,
		Ban:         limiter.ApplyBan,
	})
	if err != nil {
		return nil, err
	}
	s.OnAccessChange(keys.CatchUp)
	b.lifetime.run(keys.Follow())
	b.metrics.Read("petcat_keyring_keys", func() float64 { return float64(keys.Keys()) })
	b.metrics.Read("petcat_keyring_trusted", func() float64 { return gauge(keys.Trusted()) })
	return keys, nil
}

// recordHistory starts to record the history for the console's charts.
func (b base) recordHistory(st *state) *console.History {
	history := console.NewHistory(b.Clock.Read().Time(), metrics.DurationBounds())
	b.lifetime.every(console.StepLength, func(ctx context.Context) { b.takeStep(ctx, st, history) })
	return history
}

// takeStep adds the numbers since the last step to the history of the console.
func (b base) takeStep(ctx context.Context, st *state, history *console.History) {
	totals, err := b.metrics.Totals()
	if err != nil {
		b.Log.ErrorContext(ctx, "history step not taken", "error", err)
		return
	}
	r, _ := st.readiness()
	history.Take(b.Clock.Read().Time(), console.Totals{
		Statuses:  totals.Statuses,
		Reasons:   totals.Reasons,
		Durations: totals.Durations,
	}, slices.Sorted(maps.Keys(r.Since)))
}
