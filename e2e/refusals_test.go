package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// recentRefusal is what petcat account refusals shows of one.
type recentRefusal struct {
	RequestID    string `json:"request_id"`
	Key          string
	Operation    string
	Status       int
	Code, Reason string
	Minute, Day  struct{ Used, Limit int64 }
	Until        time.Time
}

// refusal returns the refusal that was an answer, and how many the account has, once it
// is there.
func (s *server) refusal(account string, a *answer) (found recentRefusal, of int) {
	s.t.Helper()
	eventually(s.t, 10*time.Second, "the refusal is there", func() bool {
		var all []recentRefusal
		must(s.t, json.Unmarshal([]byte(petcatDoes(s.t, s.data, "account", "refusals", account, "--json")), &all))
		at := slices.IndexFunc(all, func(r recentRefusal) bool { return r.RequestID == a.Header.Get("X-Request-Id") })
		if at >= 0 {
			found, of = all[at], len(all)
		}
		return at >= 0
	})
	return found, of
}

// TestRefusals: why a customer got 429 is answered by one command.
func TestRefusals(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	openAccount(t, data, "acme", "enterprise", "--per-minute", "3", "--per-day", "1000")
	keyID, key := issueKey(t, data, "acme")
	s := serve(t, data)
	awaitRoomInMinute(t, 20*time.Second)
	for range 3 {
		wantStatus(t, s.list(key), http.StatusOK)
	}
	refused := s.create(key, "dog")
	wantStatus(t, refused, http.StatusTooManyRequests)
	want := recentRefusal{RequestID: refused.Header.Get("X-Request-Id"), Key: keyID, Operation: "createCategory", Status: 429, Code: "rate_limit_exceeded", Reason: "minute"}
	want.Minute.Used, want.Minute.Limit, want.Day.Used, want.Day.Limit = 3, 3, 3, 1_000
	want.Until = time.Unix(refused.number(t, "X-RateLimit-Reset"), 0).UTC()
	if got, of := s.refusal("acme", refused); got != want || of != 1 {
		t.Errorf("the refusal is %+v of %d, want %+v", got, of, want)
	}

	// What was used of the minute depends on when that began.
	keyID, key = s.spentKey("hungry")
	refused = s.list(key)
	got, _ := s.refusal("hungry", refused)
	want = recentRefusal{RequestID: got.RequestID, Key: keyID, Operation: "listCategories", Status: 429, Code: "daily_quota_exceeded", Reason: "day", Minute: got.Minute}
	want.Day.Used, want.Day.Limit = 1, 1
	want.Until = time.Unix(refused.number(t, "X-RateLimit-Reset"), 0).UTC()
	if got != want {
		t.Errorf("the refusal by the day is %+v, want %+v", got, want)
	}

	// While the day is spent a ban is told with the day's end, so it gets room first.
	keyID, key = s.bannedKey("impatient")
	end := s.bans()[0].end(t)
	s.takesEffect("the day has room", func() bool {
		refused = s.list(key)
		return refused.number(t, "X-RateLimit-Reset") == end
	}, "account", "set-plan", "impatient", "--plan", "pro")
	got, _ = s.refusal("impatient", refused)
	want = recentRefusal{RequestID: got.RequestID, Key: keyID, Operation: "listCategories", Status: 429, Code: "key_banned", Reason: "ban", Minute: got.Minute, Day: got.Day}
	want.Until = time.Unix(end, 0).UTC()
	if got != want {
		t.Errorf("the refusal by the ban is %+v, want %+v", got, want)
	}
}
