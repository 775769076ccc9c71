package main

import (
	"context"
	"log/slog"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/metrics"
	"petcat/internal/ratelimit"
	"petcat/internal/redislimit"
)

// limits is a limiter with what a server needs to know of its kind.
type limits struct {
	ratelimit.Limiter
	// trouble tells what is wrong, "" while all is well.
	trouble func() string
	watch   func(m *metrics.Metrics)
}

// counting is what opening a limiter takes.
type counting struct {
	settings Settings
	clock    clock.Clock
	limits   *ratelimit.Clock
	days     petcat.DayStore
	dataset  string     // names the data whose accounts are counted
	live     func() int // nodes
	banned   func(petcat.Ban)
	logger   *slog.Logger
	metrics  *metrics.Metrics
}

// openLimits opens the limiter that the settings name.
func openLimits(ctx context.Context, c counting) (*limits, error) {
	if c.settings.memory() {
		return c.memory(), nil
	}
	return c.redis(ctx)
}

const cannotSave = "day counts cannot be saved; counting in memory"

func (c counting) memory() *limits {
	m := ratelimit.NewMemory(ratelimit.Options{
		Clock: c.limits, Days: c.days, Bans: c.settings.Bans, Banned: c.banned, Logger: c.logger,
	})
	return &limits{
		Limiter: m,
		trouble: func() string {
			if m.Stats().Degraded {
				return cannotSave
			}
			return ""
		},
		watch: func(to *metrics.Metrics) { watchMemory(to, m.Stats) },
	}
}

// limiterNamespace begins the names of all that petcat keeps on a Redis server;
// the name of the data follows, because accounts have the same numbers in
// production and in staging.
const limiterNamespace = "petcat:"

func (c counting) redis(ctx context.Context) (*limits, error) {
	l, err := redislimit.New(ctx, redislimit.Options{
		URL: c.settings.Limiter, Namespace: limiterNamespace + c.dataset, AllowEviction: c.settings.LimiterAllowEviction,
		Clock: c.clock, Days: c.days, Bans: c.settings.Bans, Banned: c.banned,
		LiveNodes: c.live, Logger: c.logger,
		Observe: func(took time.Duration) { c.metrics.Limiter(took) },
	})
	if err != nil {
		return nil, configErrorf("%w; see --limiter (PETCAT_LIMITER)", err)
	}
	return &limits{
		Limiter: l,
		trouble: func() string {
			stats := l.Stats()
			switch {
			case !stats.Degraded:
				return ""
			case stats.Mode != "together":
				return "the limiter's server is away; this node enforces its share of each quota"
			default:
				return cannotSave
			}
		},
		watch: func(to *metrics.Metrics) { watchRedis(to, l) },
	}, nil
}
