package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

// TestUsageHistory: the history is free, and shares the bucket of the usage. Each account gets its own.
func TestUsageHistory(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Free)
	key, id := s.key(account)
	hour := noon.Truncate(time.Hour)
	day := noon.Truncate(24 * time.Hour)
	must(t, s.store.AddUsage(t.Context(), petcat.UsageBatch{
		Node:   "a",
		Number: 1,
		SeenAt: noon,
		Counts: []petcat.UsageCount{{
			Account: account.ID,
			Hour:    hour.Unix() / 3600,
			UsageCounts: petcat.UsageCounts{
				Requests:       9,
				MinuteRejected: 1,
				BanRejected:    2,
				Failed:         4,
			},
			Detail: []petcat.UsageDetail{
				{Requests: 2},
				{Key: id, Operation: petcat.OpListCategories, Requests: 7, Rejected: 3, Failed: 4},
			},
		}},
	}))
	get := func(query string) *response {
		t.Helper()
		return s.do("GET", "/v1/usage/history"+query, nil, withKey(key))
	}
	for query, want := range map[string]string{
		"": fmt.Sprintf(`[{"start":%d,"requests":9,"rejected":3,"failed":4}]`, day.Unix()),
		"?group=key": fmt.Sprintf(`[{"start":%[1]d,"requests":2,"rejected":0,"failed":0},`+
			`{"start":%[1]d,"key":"key_1","requests":7,"rejected":3,"failed":4}]`, day.Unix()),
		"?by=hour&group=operation": fmt.Sprintf(`[{"start":%[1]d,"requests":2,"rejected":0,"failed":0},`+
			`{"start":%[1]d,"operation":"listCategories","requests":7,"rejected":3,"failed":4}]`, hour.Unix()),
		fmt.Sprintf("?by=hour&to=%d", hour.Unix()):                   `[]`,
		fmt.Sprintf("?by=day&to=%d&from=%[1]d", day.Unix()-1):        "",
		fmt.Sprintf("?by=hour&from=%d", noon.Unix()-168*3600):        fmt.Sprintf(`[{"start":%d,"requests":9,"rejected":3,"failed":4}]`, hour.Unix()),
		fmt.Sprintf("?by=hour&from=%d", noon.Unix()-168*3600-1):      "",
		fmt.Sprintf("?from=%d", noon.Add(-92*24*time.Hour).Unix()-1): "",
		fmt.Sprintf("?from=%d&group=key", noon.Add(-91*24*time.Hour).Unix()): fmt.Sprintf(
			`[{"start":%[1]d,"requests":2,"rejected":0,"failed":0},{"start":%[1]d,"key":"key_1","requests":7,"rejected":3,"failed":4}]`,
			day.Unix()),
		"?by=week":         "",
		"?group=account":   "",
		"?from=2027-03-14": "",
		"?from=1&to=2":     "",
	} {
		a := get(query)
		if want == "" {
			wantError(t, a, 400, petcat.CodeInvalidField)
			continue
		}
		wantStatus(t, a, 200)
		if string(a.body) != want {
			t.Errorf("%s: %s, want %s", query, a.body, want)
		}
	}
	other, _ := s.key(s.account("other", petcat.Free))
	if a := s.do("GET", "/v1/usage/history", nil, withKey(other)); string(a.body) != "[]" {
		t.Errorf("another account got %s", a.body)
	}
	wantHeadline(t, s.list(withKey(key)), 60, 59, noon.Add(42*time.Second)) // the first one that counts
	for range 60 {
		s.do("GET", "/v1/usage", nil, withKey(key))
	}
	a := get("")
	wantError(t, a, 429, petcat.CodeRateLimitExceeded)
	wantHeader(t, a, "RateLimit-Policy", `"usage";q=60;w=60`)
}
