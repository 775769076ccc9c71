package e2e

import (
	"net/http"
	"strconv"
	"testing"

	rules "github.com/petcat-api/petcat"
)

// TestWindowOfResponse: a response is counted in the window of its decision, even if it is sent in the
// next one.
func TestWindowOfResponse(t *testing.T) {
	t.Parallel()
	const end = 1_800_000_000
	for _, tt := range []struct {
		name             string
		code             rules.Code
		remaining, reset int64
		want             int64
	}{
		{"allowed", rules.CodeRateLimitExceeded, 99, end, end},
		{"allowed before the end, sent after it", rules.CodeRateLimitExceeded, 100, end + 60, end},
		{"rejected", rules.CodeRateLimitExceeded, 0, end, end},
		{"rejected before the end, sent after it", rules.CodeRateLimitExceeded, 0, end + 3, end},
		{"of a day", rules.CodeDailyQuotaExceeded, 99, 20834 * 86400, 20834 * 86400},
		{"of the day before", rules.CodeDailyQuotaExceeded, 100, 20834 * 86400, 20833 * 86400},
	} {
		a := &answer{Response: &http.Response{Header: http.Header{}}}
		a.Header.Set("X-RateLimit-Limit", "100")
		a.Header.Set("X-RateLimit-Remaining", strconv.FormatInt(tt.remaining, 10))
		a.Header.Set("X-RateLimit-Reset", strconv.FormatInt(tt.reset, 10))
		if got := newSpent(100, tt.code).windowOf(t, a); got != tt.want {
			t.Errorf("%s: the window ends at %d, want %d", tt.name, got, tt.want)
		}
	}
}

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
