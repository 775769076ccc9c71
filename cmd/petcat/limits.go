package main

import (
	"context"
	"log/slog"
	"time"

	"petcat"
	"petcat/internal/clock"
	"petcat/internal/clusterlimit"
	"petcat/internal/counters"
	"petcat/internal/metrics"
	"petcat/internal/pgcounters"
	"petcat/internal/ratelimit"
	"petcat/internal/rediscounters"
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
	dataset  string // names the data whose accounts are counted
	nodes    *nodes
	banned   func(petcat.Ban)
	logger   *slog.Logger
	metrics  *metrics.Metrics
}

// openLimits opens the limiter that the settings name.
func openLimits(ctx context.Context, c counting) (*limits, error) {
	if c.settings.memory() {
		return c.memory(), nil
	}
	return c.shared(ctx)
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

// shared opens a limiter that counts together with those of other nodes.
func (c counting) shared(ctx context.Context) (*limits, error) {
	count, hangUp, err := c.counters(ctx)
	if err != nil {
		return nil, configErrorf("%w; see --limiter (PETCAT_LIMITER)", err)
	}
	l := clusterlimit.New(ctx, clusterlimit.Options{
		Counters: count, Clock: c.clock, Days: c.days, Bans: c.settings.Bans, Banned: c.banned,
		Membership: c.nodes.membership, Logger: c.logger,
		Observe: func(took time.Duration) { c.metrics.Limiter(took) },
	})
	c.nodes.say(l.CutOff)
	return &limits{
		Limiter: sharedLimiter{l, hangUp},
		trouble: func() string {
			switch stats := l.Stats(); {
			case !stats.Degraded:
				return ""
			case stats.Mode != clusterlimit.Closed:
				return "the limiter's server is away; this node enforces its share of each quota"
			default:
				return cannotSave
			}
		},
		watch: func(to *metrics.Metrics) { watchShared(to, l) },
	}, nil
}

// counters opens what the settings have several nodes count on, and returns how to
// close it.
func (c counting) counters(ctx context.Context) (counters.Counters, func(), error) {
	if c.settings.countsInDatabase() {
		count, err := pgcounters.New(ctx, pgcounters.Options{URL: c.settings.Database, Logger: c.logger})
		if err != nil {
			return nil, nil, err
		}
		return count, count.Close, nil
	}
	count, err := rediscounters.New(ctx, rediscounters.Options{
		URL: c.settings.Limiter, Namespace: limiterNamespace + c.dataset, AllowEviction: c.settings.LimiterAllowEviction, Logger: c.logger,
	})
	if err != nil {
		return nil, nil, err
	}
	return count, count.Close, nil
}

// sharedLimiter is a limiter whose counters are closed after it.
type sharedLimiter struct {
	ratelimit.Limiter

	hangUp func()
}

func (c sharedLimiter) Close(ctx context.Context) error {
	defer c.hangUp()
	return c.Limiter.Close(ctx)
}
