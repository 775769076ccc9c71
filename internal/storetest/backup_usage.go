package storetest

import (
	"maps"
	"testing"
	"time"

	"petcat"
)

// furnishUsage adds to the usage history what there can be: days, hours, a gap, and uses of
// keys.
func (h *household) furnishUsage(t *testing.T, keys []petcat.Key) {
	t.Helper()
	for n, before := range []time.Duration{40 * 24 * time.Hour, time.Second} {
		at := h.now().Add(-before)
		b := batch("usage", int64(n+1), at, countOf(keys[n].Account, int64(n+1)))
		b.Keys = []petcat.KeyUse{{Key: keys[n].ID, At: at.Truncate(time.Second)}}
		h.addUsage(t, b)
		h.addUsage(t, petcat.UsageBatch{Node: "killed", Number: 1, SeenAt: at})
		h.clean(t)
	}
}

// addUsageOf reads the usage history of an account.
func (h *household) addUsageOf(t *testing.T, s Store, account petcat.AccountID, c *contents) {
	t.Helper()
	for _, step := range []petcat.UsageStep{petcat.UsageByHour, petcat.UsageByDay} {
		c.Usage[account] = append(c.Usage[account], h.usage(t, s, petcat.UsageQuery{Account: account, Step: step}))
	}
	uses, err := s.KeyUses(t.Context(), account)
	maps.Copy(c.KeyUses, must(t, uses, err))
}
