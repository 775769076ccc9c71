package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

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
	type refusal struct {
		RequestID    string `json:"request_id"`
		Key          string
		Operation    string
		Status       int
		Code, Reason string
		Minute, Day  struct{ Used, Limit int64 }
		Until        time.Time
	}
	var all []refusal
	eventually(t, 10*time.Second, "the refusal is there", func() bool {
		must(t, json.Unmarshal([]byte(petcatDoes(t, data, "account", "refusals", "acme", "--json")), &all))
		return len(all) > 0
	})
	want := refusal{RequestID: refused.Header.Get("X-Request-Id"), Key: keyID, Operation: "createCategory", Status: 429, Code: "rate_limit_exceeded", Reason: "minute"}
	want.Minute.Used, want.Minute.Limit, want.Day.Used, want.Day.Limit = 3, 3, 3, 1_000
	want.Until = time.Unix(refused.number(t, "X-RateLimit-Reset"), 0).UTC()
	if len(all) != 1 || all[0] != want {
		t.Errorf("the refusals are %+v, want %+v", all, want)
	}
}
