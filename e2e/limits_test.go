package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	rules "petcat"
)

// TestPlans: the first response has the numbers of the plan.
func TestPlans(t *testing.T) {
	t.Parallel()
	place := directory(t)
	plans := []struct {
		flags             []string
		perMinute, perDay int
	}{
		{[]string{"free"}, 60, 1_000},
		{[]string{"pro"}, 300, 10_000},
		{[]string{"business"}, 1_000, 100_000},
		{limited("70", "77"), 70, 77},
	}
	keys := make([]key, len(plans))
	for i, plan := range plans {
		keys[i] = newKey(t, place, plan.flags[0], plan.flags...)
	}
	n := serve(t, place)
	for i, plan := range plans {
		a := n.list(keys[i].Key).want(t, http.StatusOK)
		if a.number(t, "X-RateLimit-Limit") != int64(plan.perMinute) || a.number(t, "X-RateLimit-Remaining") != int64(plan.perMinute)-1 {
			t.Errorf("%s: %v", plan.flags[0], a.Header)
		}
		want := fmt.Sprintf(`"minute";q=%d;w=60, "day";q=%d;w=86400`, plan.perMinute, plan.perDay)
		if got := a.Header.Get("RateLimit-Policy"); got != want {
			t.Errorf("%s: RateLimit-Policy %s, want %s", plan.flags[0], got, want)
		}
	}
}

// TestLimitsAreExact: many concurrent clients with the two keys of one account are admitted exactly the
// quota of each minute and day.
func TestLimitsAreExact(t *testing.T) {
	t.Parallel()
	const quota, clients = 100, 16
	place := directory(t)
	for name, c := range map[string]struct {
		code rules.Code
		plan []string
	}{
		"minute": {rules.CodeRateLimitExceeded, limited(strconv.Itoa(quota), "1000000")},
		"day":    {rules.CodeDailyQuotaExceeded, limited("1000000", strconv.Itoa(quota))},
	} {
		first := newKey(t, place, name, c.plan...)
		second := petcatJSON[key](t, place, "key", "create", name)
		spends := newSpent(quota, c.code)
		n := serve(t, place, "--bans", "off") // the clients do not wait
		atOnce(clients, func(i int) {
			for refused := 0; refused < 10; {
				if !spends.add(t, n.list([]string{first.Key, second.Key}[i%2])) {
					refused++
				}
			}
		})
		spends.wantExact(t, 0)
		n.stop()
	}
}
