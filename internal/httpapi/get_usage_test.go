package httpapi_test

import (
	"encoding/json"
	"testing"
	"time"

	"petcat"
)

func TestGetUsage(t *testing.T) {
	type window struct {
		Window                        string
		Limit, Used, Remaining, Reset int64
	}
	type usage struct {
		Plan    string
		Windows []window
		Ban     *struct{ Until int64 }
	}
	minute, midnight := noon.Add(42*time.Second), noon.Truncate(24*time.Hour).Add(24*time.Hour)
	read := func(t *testing.T, a *answer) usage {
		t.Helper()
		wantStatus(t, a, 200)
		wantHeader(t, a, "Content-Type", "application/json")
		wantHeader(t, a, "Cache-Control", "no-store")
		var u usage
		must(t, json.Unmarshal(a.body, &u))
		return u
	}
	want := func(t *testing.T, u usage, minuteUsed, dayUsed int64) {
		t.Helper()
		expected := []window{
			{"minute", 60, minuteUsed, 60 - minuteUsed, minute.Unix()},
			{"day", 1_000, dayUsed, 1_000 - dayUsed, midnight.Unix()},
		}
		if u.Plan != "free" || len(u.Windows) != 2 || u.Windows[0] != expected[0] || u.Windows[1] != expected[1] {
			t.Errorf("%+v, want %+v", u, expected)
		}
	}

	t.Run("200 costs nothing", func(t *testing.T) {
		s := start(t)
		key, _ := s.key(s.account("acme", petcat.Free))
		ask := func() *answer { return s.do("GET", "/v1/usage", nil, withKey(key)) }
		want(t, read(t, ask()), 0, 0)
		for range 3 {
			wantStatus(t, s.list(withKey(key)), 200)
		}
		a := ask()
		want(t, read(t, a), 3, 3)
		wantHeadline(t, a, 60, 57, minute)
		wantHeader(t, a, "X-Stability", "beta")
		wantHeadline(t, s.list(withKey(key)), 60, 56, minute)
	})
	t.Run("200 for a banned key", func(t *testing.T) {
		s := start(t)
		account := s.account("acme", petcat.Free)
		key, id := s.key(account)
		end := noon.Add(5 * time.Minute)
		s.limiter.ApplyBan(petcat.Ban{Key: id, Account: account.ID, Level: 2, StartedAt: noon, EndsAt: end})
		wantError(t, s.list(withKey(key)), 429, petcat.CodeKeyBanned)
		u := read(t, s.do("GET", "/v1/usage", nil, withKey(key)))
		want(t, u, 0, 0)
		if u.Ban == nil || u.Ban.Until != end.Unix() {
			t.Errorf("the ban is %+v", u.Ban)
		}
	})
	t.Run("429 for who asks all the time", func(t *testing.T) {
		s := start(t)
		key, _ := s.key(s.account("acme", petcat.Free))
		neighbour, _ := s.key(s.account("other", petcat.Free))
		for range 60 {
			wantStatus(t, s.do("GET", "/v1/usage", nil, withKey(key)), 200)
		}
		a := s.do("GET", "/v1/usage", nil, withKey(key))
		wantError(t, a, 429, petcat.CodeRateLimitExceeded)
		wantHeadline(t, a, 60, 0, minute)
		wantHeader(t, a, "RateLimit-Policy", `"usage";q=60;w=60`)
		wantHeader(t, a, "Retry-After", "43")
		wantHeadline(t, s.list(withKey(key)), 60, 59, minute)
		wantStatus(t, s.do("GET", "/v1/usage", nil, withKey(neighbour)), 200)
		s.clock.Advance(42 * time.Second)
		wantStatus(t, s.do("GET", "/v1/usage", nil, withKey(key)), 200)
	})
}
