package server

import (
	"petcat"
	"petcat/internal/ratelimit"
)

// startLimiter starts to count: in memory if this is the only node, else in the database.
// Each ban is counted in the metrics, logged and saved.
func (n *Node) startLimiter() {
	n.bans = ratelimit.NewBanWriter(n.backend, n.clock, n.log.Logger)
	n.limiter = ratelimit.New(ratelimit.Options{
		Clock: n.clock, Counters: n.backend.counters(), DayUsed: n.backend.DayUsed, Bans: n.settings.Bans, Observe: n.metrics.Charge,
		Banned: func(b petcat.Ban) {
			n.metrics.Banned(b.Shadow)
			n.log.Info("a key was banned", "key", b.Key, "account", b.Account, "level", b.Level,
				"ends_at", b.EndsAt, "early_retries", b.EarlyRetries, "shadow", b.Shadow)
			n.bans.Banned(b)
		},
	})
}
