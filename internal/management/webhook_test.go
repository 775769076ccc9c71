package management_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func (s *service) stageWebhook() {
	s.t.Helper()
	n, err := petcat.ParseNewWebhook("https://example.com/hook", nil, nil)
	must(s.t, err)
	_, err = s.store.CreateWebhook(s.t.Context(), petcat.By(cli), n, petcat.NewSecret("whsec_YQ=="))
	must(s.t, err)
}

// TestListEvents: a program fetches new events with the id of the last event that it has.
func TestListEvents(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.create("/accounts/acme/keys", `{}`)
	type event struct {
		ID              int64
		Type, Timestamp string
		Data            map[string]any
	}
	wantEqual(t, "events", 2, len(decode[[]event](t, s.get("/events"))))
	first := s.get("/events?limit=1")
	wantEqual(t, "Link", `</admin/v1/events?after=1&limit=1>; rel="next"`, first.header.Get("Link"))
	got := decode[[]event](t, first)[0]
	wantEqual(t, "the account", any("acct_1"), got.Data["account"])
	got.Data = nil
	wantEqual(t, "the first", event{ID: 1, Type: "key.created", Timestamp: "2027-03-14T12:00:18Z"}, got)
	wantEqual(t, "those after it", int64(2), decode[[]event](t, s.get("/events?after=1"))[0].ID)
	wantEqual(t, "those after 0", 2, len(decode[[]event](t, s.get("/events?after=0"))))
	wantEqual(t, "those after the last", "[]", string(s.get("/events?after=2").body))
	s.rejected(410, "cursor_expired", "GET", "/events?after=3", "")
	s.rejected(400, "invalid_field", "GET", "/events?after=evt_1", "")
}

// TestWebhook: the secret is shown once, and never in a list, an audit entry or the log.
func TestWebhook(t *testing.T) {
	t.Parallel()
	s := start(t)
	type webhook struct {
		ID         int64
		URL, State string
		Types      []string
		Secret     string
		Deliveries []struct{ Response string }
	}
	made := decode[webhook](t, s.create("/webhooks", `{"url":"https://example.com/hook?t=1","types":["key.banned"]}`))
	if !strings.HasPrefix(made.Secret, "whsec_") {
		t.Errorf("the secret is %q", made.Secret)
	}
	rotated := decode[webhook](t, s.create("/webhooks/1/rotate", `{"overlap":"2h"}`))
	if rotated.Secret == made.Secret || !strings.HasPrefix(rotated.Secret, "whsec_") {
		t.Errorf("the new secret is %q", rotated.Secret)
	}
	s.said.Reset()
	w, err := s.store.FindWebhook(t.Context(), 1)
	must(t, err)
	failed := petcat.Delivery{Event: 1, Type: "key.banned", Attempt: 1, At: noon, Status: 500, Response: "no"}
	_, err = s.store.SaveDelivery(t.Context(), w, w.After(failed), &failed)
	must(t, err)
	got := decode[webhook](t, s.get("/webhooks/1"))
	wantEqual(t, "the response", "no", got.Deliveries[0].Response)
	wantEqual(t, "the state", "failing", got.State)
	wantEqual(t, "the list", 1, len(decode[[]webhook](t, s.get("/webhooks"))))
	s.post("/webhooks/1/test", "")
	wantEqual(t, "the state", "disabled", decode[webhook](t, s.post("/webhooks/1/disable", "")).State)
	s.rejected(409, "conflict", "POST", "/webhooks/1/test", "")
	wantEqual(t, "the state", "enabled", decode[webhook](t, s.post("/webhooks/1/enable", "")).State)
	audit, err := json.Marshal(decode[[]any](t, s.get("/audit")))
	must(t, err)
	if said := s.said.String(); strings.Contains(said, "whsec_") || strings.Contains(string(audit), "?t=1") {
		t.Errorf("a secret was shown again:\n%s", said)
	}
	wantEqual(t, "deleted", int64(1), decode[webhook](t, s.remove("/webhooks/1")).ID)
	s.rejected(404, "not_found", "GET", "/webhooks/1", "")
}

func TestInvalidWebhook(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.stageWebhook()
	for body, code := range map[string]petcat.Code{
		`{}`:                            "missing_field",
		`{"url":"http://example.com/"}`: "invalid_field",
		`{"url":"https://169.254.169.254/latest"}`:             "invalid_field",
		`{"url":"https://example.com/","types":["key.found"]}`: "invalid_field",
	} {
		s.rejected(400, code, "POST", "/webhooks", body)
	}
	s.rejected(400, "invalid_field", "POST", "/webhooks/1/rotate", `{"overlap":"40d"}`)
	s.rejected(400, "invalid_field", "GET", "/webhooks/01", "")
}
