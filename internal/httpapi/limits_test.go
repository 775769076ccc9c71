package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func TestLimits(t *testing.T) {
	s := start(t)
	account := s.account("free", petcat.Free)
	key, _ := s.key(account)
	minute := noon.Truncate(time.Minute).Add(time.Minute)
	midnight := noon.Truncate(24 * time.Hour).Add(24 * time.Hour)

	t.Run("200 a new Free key shows 60 and 59", func(t *testing.T) {
		a := s.list(withKey(key))
		wantStatus(t, a, 200)
		wantHeadline(t, a, 60, 59, minute)
		wantHeader(t, a, "RateLimit-Policy", `"minute";q=60;w=60, "day";q=1000;w=86400`)
		wantHeader(t, a, "RateLimit", `"minute";r=59;t=42, "day";r=999;t=43182`)
	})

	t.Run("every authenticated request counts", func(t *testing.T) {
		left := int64(58)
		for _, a := range []*response{
			s.do("GET", "/v1/nothing", nil, withKey(key)),
			s.do("DELETE", "/v1/categories", nil, withKey(key)),
			s.do("OPTIONS", "/v1/categories", nil, withKey(key)),
			s.create(`{`, withKey(key)),
			s.create(`x`, withKey(key), withHeader("Content-Type", "text/plain")),
			s.do("HEAD", "/v1/categories", nil, withKey(key)),
			s.list(withKey(key), withHeader("If-None-Match", "*")),
		} {
			wantHeadline(t, a, 60, left, minute)
			left--
		}
	})

	t.Run("429 minute quota spent", func(t *testing.T) {
		for left := int64(51); left >= 0; left-- {
			wantHeadline(t, s.list(withKey(key)), 60, left, minute)
		}
		for range 3 {
			a := s.list(withKey(key))
			wantError(t, a, 429, petcat.CodeRateLimitExceeded)
			wantHeadline(t, a, 60, 0, minute)
			wantHeader(t, a, "Retry-After", "43") // 42 s, and a little for fast clocks
			wantHeader(t, a, "Cache-Control", "no-store")
			wantHeader(t, a, "RateLimit", `"minute";r=0;t=42, "day";r=940;t=43182`)
			wantMessage(t, a, "60 requests of this minute")
		}
		other, _ := s.key(account)
		wantError(t, s.list(withKey(other)), 429, petcat.CodeRateLimitExceeded)
	})

	t.Run("200 after Retry-After", func(t *testing.T) {
		s.advance(42 * time.Second)
		wantHeadline(t, s.list(withKey(key)), 60, 59, minute.Add(time.Minute))
	})

	t.Run("429 day quota spent", func(t *testing.T) {
		key, _ := s.key(s.account("small", petcat.Enterprise, 5, 5))
		for left := int64(4); left >= 0; left-- { // on a tie the longer window
			wantHeadline(t, s.list(withKey(key)), 5, left, midnight)
		}
		a := s.list(withKey(key))
		wantError(t, a, 429, petcat.CodeDailyQuotaExceeded)
		wantHeadline(t, a, 5, 0, midnight)
		wantMessage(t, a, midnight.Format(time.RFC3339))
		toMidnight := int64(midnight.Sub(s.clock.Read().Time()) / time.Second)
		if after := a.number(t, "Retry-After"); after < toMidnight || after > toMidnight+60 {
			t.Errorf("Retry-After %d, midnight in %d s", after, toMidnight)
		}
	})

	t.Run("a plan change applies immediately and keeps the counts", func(t *testing.T) {
		pro, err := petcat.ParseSubscription("pro", petcat.Quota{}, petcat.Storage{})
		must(t, err)
		_, err = s.store.EditAccount(t.Context(), petcat.By("test"), account.ID, petcat.EditPlan(pro))
		must(t, err)
		s.hear()
		a := s.list(withKey(key))
		wantStatus(t, a, 200)
		wantHeadline(t, a, 300, 298, s.clock.Read().Time().Truncate(time.Minute).Add(time.Minute))
		if state := a.Header.Get("RateLimit"); !strings.Contains(state, `"day";r=9938;`) {
			t.Errorf("RateLimit: %s", state)
		}
	})
}

func TestBan(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("free", petcat.Free))
	sibling, _ := s.key(s.account("other", petcat.Free))
	for range 60 {
		wantStatus(t, s.list(withKey(key)), 200)
	}
	wantError(t, s.list(withKey(key)), 429, petcat.CodeRateLimitExceeded)
	s.advance(3 * time.Second)

	t.Run("429 warns from half of the threshold", func(t *testing.T) {
		for i := 1; i <= 100; i++ {
			a := s.list(withKey(key))
			wantError(t, a, 429, petcat.CodeRateLimitExceeded)
			if warned := strings.Contains(string(a.body), "will ban this key"); warned != (i >= 50) {
				t.Errorf("early retry %d: %s", i, a.body)
			}
			warned := map[int]string{99: "2 more early retries will ban this key", 100: "the next early retry will ban this key"}
			if left := warned[i]; left != "" {
				wantMessage(t, a, left)
			}
		}
	})
	end := noon.Add(3*time.Second + time.Minute)
	t.Run("429 banned", func(t *testing.T) {
		for range 40 {
			a := s.list(withKey(key))
			wantError(t, a, 429, petcat.CodeKeyBanned)
			wantHeadline(t, a, 60, 0, end)
			wantHeader(t, a, "Retry-After", "61")
			wantMessage(t, a, end.Format(time.RFC3339))
		}
		wantStatus(t, s.list(withKey(sibling)), 200)
	})
}
