package storetest

import (
	"maps"
	"testing"
	"time"

	"petcat"
)

// furnishUsage adds to the usage history what there can be: days, hours, batches that are
// merged and some that are not, a gap, and uses of keys.
func (h *household) furnishUsage(t *testing.T, keys []petcat.Key) {
	t.Helper()
	for n, before := range []time.Duration{40 * 24 * time.Hour, 3 * time.Hour, 15 * time.Minute, time.Second} {
		at := h.now().Add(-before)
		b := batch("usage", int64(n+1), at, petcat.UsageCount{Account: keys[n].Account, UsageCounts: counted(int64(n + 1))})
		b.Keys = []petcat.KeyUse{{Key: keys[n].ID, At: at.Truncate(time.Second)}}
		h.addUsage(t, b)
		if n < 3 {
			h.addUsage(t, petcat.UsageBatch{Node: "killed", Number: 1, Until: at})
			h.clean(t)
		}
	}
}

// addUsageOf reads the usage history of an account.
func (h *household) addUsageOf(t *testing.T, s Store, account petcat.AccountID, c *contents) {
	t.Helper()
	for _, step := range []petcat.UsageStep{petcat.UsageByMinute, petcat.UsageByHour, petcat.UsageByDay} {
		c.Usage[account] = append(c.Usage[account], h.usage(t, s, petcat.UsageQuery{Account: account, Step: step}))
	}
	uses, err := s.KeyUses(t.Context(), account)
	maps.Copy(c.KeyUses, must(t, uses, err))
}
