package e2e

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"petcat"
)

// TestBanSurvivesRestarts: neither an orderly restart nor a kill moves a ban's
// end.
func TestBanSurvivesRestarts(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	_, key := s.bannedKey("impatient")
	end := s.bans()[0].end(t)
	// Who is banned with the day spent is told the day's end. With a day that has
	// room again, it is the ban's.
	told := func() bool { return s.list(key).number(t, "X-RateLimit-Reset") == end }
	s.control().Repeat(func() {
		if told() { // by an attempt before
			petcatDoes(t, data, "account", "set-plan", "impatient", "--plan", "enterprise", "--per-minute", "1", "--per-day", "1")
			eventually(t, 5*time.Second, "the caller is told the day's end", func() bool { return !told() })
		}
		s.takesEffect("the caller is told the end that the operator is told", told, "account", "set-plan", "impatient", "--plan", "pro")
	})
	if wait := end - time.Now().Unix(); wait < 50 || wait > 61 {
		t.Errorf("a first ban ends in %d s; want a minute", wait)
	}
	for _, c := range []struct {
		name string
		end  func()
	}{
		{"SIGTERM", s.mustStop},
		{"kill", func() { s.kill() }},
	} {
		c.end()
		s = serve(t, data)
		a := s.list(key)
		wantError(t, a, http.StatusTooManyRequests, petcat.CodeKeyBanned)
		wantNumber(t, a, "X-RateLimit-Reset", end)
		if left := a.number(t, "Retry-After"); left < end-time.Now().Unix() {
			t.Errorf("after %s the caller may come back in %d s, before the ban ends", c.name, left)
		}
		if got := s.bans(); len(got) != 1 || got[0].end(t) != end || got[0].Level != 1 {
			t.Errorf("after %s the ban list shows %v", c.name, got)
		}
	}
}

func TestBansInShadowKeepNobodyOut(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data, "--bans", "shadow")
	id, key := s.spentKey("impatient")
	eventually(t, 15*time.Second, "a ban is counted", func() bool {
		wantError(t, s.list(key), http.StatusTooManyRequests, petcat.CodeDailyQuotaExceeded)
		return s.metric(`petcat_bans_total{mode="shadow"}`) == 1
	})
	wantError(t, s.list(key), http.StatusTooManyRequests, petcat.CodeDailyQuotaExceeded)
	eventually(t, 5*time.Second, "the ban is listed", func() bool { return len(s.bans()) == 1 })
	if got := s.bans(); got[0].Key != id || got[0].State != "shadow" {
		t.Errorf("ban list shows %v", got)
	}
	if n := s.metric(`petcat_bans_total{mode="enforce"}`); n != 0 {
		t.Errorf("%v bans were enforced", n)
	}
	s.mustStop()
	s = serve(t, data)
	wantError(t, s.list(key), http.StatusTooManyRequests, petcat.CodeDailyQuotaExceeded)
}

func TestBansOff(t *testing.T) {
	t.Parallel()
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--bans", "off")
	_, key := s.spentKey("impatient")
	// Past the grace, and more than the threshold that follows.
	end := time.Now().Add(petcat.EarlyRetryGrace)
	for n := 0; n < 40; {
		wantError(t, s.list(key), http.StatusTooManyRequests, petcat.CodeDailyQuotaExceeded)
		if time.Now().After(end) {
			n++
		}
	}
	if got := s.bans("--all"); len(got) != 0 {
		t.Errorf("ban list shows %v", got)
	}
	if s.metric(`petcat_bans_total{mode="enforce"}`)+s.metric(`petcat_bans_total{mode="shadow"}`) != 0 {
		t.Error("bans were counted")
	}
}
