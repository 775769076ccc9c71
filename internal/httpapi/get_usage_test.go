package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func TestUsageIsFree(t *testing.T) {
	s := start(t)
	account := s.account("acme", petcat.Free)
	key, id := s.key(account)
	neighbor, _ := s.key(s.account("other", petcat.Free))
	minute, midnight := noon.Add(42*time.Second), noon.Truncate(24*time.Hour).Add(24*time.Hour)
	wantUsed := func(n int64, ban, bans string) {
		t.Helper()
		a := s.do("GET", "/v1/usage", nil, withKey(key))
		wantStatus(t, a, 200)
		wantHeader(t, a, "Cache-Control", "no-store")
		wantHeader(t, a, "X-Stability", "beta")
		want := fmt.Sprintf(`{"plan":"free","windows":[`+
			`{"window":"minute","limit":60,"used":%d,"remaining":%d,"reset":%d},`+
			`{"window":"day","limit":1000,"used":%d,"remaining":%d,"reset":%d}],`+
			`"ban":%s,"bans":[%s],"key":{"id":"key_1","label":"","read_only":false,"expires_at":null,"networks":[]},`+
			`"storage":{"bytes":0,"max_bytes":2097152,"categories":0,"max_categories":10000}}`,
			n, 60-n, minute.Unix(), n, 1000-n, midnight.Unix(), ban, bans)
		if string(a.body) != want {
			t.Errorf("usage: %s, want %s", a.body, want)
		}
	}
	wantUsed(0, "null", "")
	wantStatus(t, s.list(withKey(key)), 200)
	wantUsed(1, "null", "")
	wantHeadline(t, s.list(withKey(key)), 60, 58, minute)

	// Banned keys may also request their usage, within the limit.
	end := noon.Add(5 * time.Minute)
	ban := petcat.Ban{Key: id, Account: account.ID, Level: 2, StartedAt: noon, EndsAt: end}
	s.limiter.ApplyBan(ban)
	must(t, s.store.SaveBan(t.Context(), ban))
	wantError(t, s.list(withKey(key)), 429, petcat.CodeKeyBanned)
	for range 58 {
		wantUsed(2, fmt.Sprintf(`{"until":%d}`, end.Unix()), fmt.Sprintf(`{"key":"key_1","until":%d}`, end.Unix()))
	}
	a := s.do("GET", "/v1/usage", nil, withKey(key))
	wantError(t, a, 429, petcat.CodeRateLimitExceeded)
	wantHeadline(t, a, 60, 0, minute)
	wantHeader(t, a, "RateLimit-Policy", `"usage";q=60;w=60`)
	wantStatus(t, s.do("GET", "/v1/usage", nil, withKey(neighbor)), 200)

	until := noon.Add(time.Hour)
	terms := petcat.KeyTerms{Label: `a "b"`, ReadOnly: true, ExpiresAt: until}
	described, _ := s.keyOn(s.account("third", petcat.Pro), terms)
	want := fmt.Sprintf(`"key":{"id":"key_3","label":"a \"b\"","read_only":true,"expires_at":%d,"networks":[]}`, until.Unix())
	if a := s.do("GET", "/v1/usage", nil, withKey(described)); !strings.Contains(string(a.body), want) {
		t.Errorf("usage: %s, want %s", a.body, want)
	}
}
