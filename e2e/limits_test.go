package e2e

import (
	"strconv"
	"testing"

	rules "github.com/petcat-api/petcat"
)

// TestLimitsAreExact: many concurrent clients with the two keys of one account are allowed exactly the
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
			for rejected := 0; rejected < 10; {
				if !spends.add(t, n.list([]string{first.Key, second.Key}[i%2])) {
					rejected++
				}
			}
		})
		spends.wantExact(t, 0)
		n.stop()
	}
}
