package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func newWebhook(t *testing.T) petcat.NewWebhook {
	t.Helper()
	types := []string{"quota.warning", "key.created"}
	return must(petcat.ParseNewWebhook("https://example.com/hook?token=secret", types, nil))
}

// revealed returns the secrets that sign for a webhook.
func (f *fixture) revealed(t *testing.T, id petcat.WebhookID) (secrets []string) {
	t.Helper()
	for _, s := range must(f.WebhookSecrets(t.Context(), id)) {
		secrets = append(secrets, s.Reveal())
	}
	return secrets
}

func testWebhooks(t *testing.T, open Open) {
	f := start(t, open)
	by := petcat.By(operator)
	f.key(t, f.account(t, "zoo").ID, 1) // an event before the webhook
	made := must(f.CreateWebhook(t.Context(), by, newWebhook(t), petcat.NewSecret("whsec_YQ=="))).Value
	want := petcat.Webhook{
		ID:        1,
		URL:       "https://example.com/hook?token=secret",
		Types:     []petcat.EventType{petcat.EventQuotaWarning, petcat.EventKeyCreated},
		CreatedAt: noon,
		Cursor:    1,
	}
	wantEqual(t, "the result", want, made)
	wantEqual(t, "the list of another node", []petcat.Webhook{want}, must(f.another(t).Webhooks(t.Context())))
	wantEqual(t, "the secrets", []string{"whsec_YQ=="}, f.revealed(t, 1))

	rotate := func(secret string, overlap time.Duration) {
		t.Helper()
		must(f.RotateWebhook(t.Context(), by, petcat.WebhookRotation{
			Webhook: 1,
			Secret:  petcat.NewSecret(secret),
			Overlap: overlap,
		}))
	}
	rotate("whsec_Yg==", time.Hour)
	wantEqual(t, "in the overlap", []string{"whsec_Yg==", "whsec_YQ=="}, f.revealed(t, 1))
	f.clock.Advance(time.Hour)
	wantEqual(t, "after it", []string{"whsec_Yg=="}, f.revealed(t, 1))
	rotate("whsec_Yw==", 0)
	wantEqual(t, "without an overlap", []string{"whsec_Yw=="}, f.revealed(t, 1))

	must(f.TestWebhook(t.Context(), by, 1))
	test := must(f.Events(t.Context(), petcat.EventQuery{After: 1, Limit: 1}))[0]
	wantEqual(t, "the test", petcat.Event{ID: 2, Type: "webhook.test", At: f.now(), Data: `{"webhook":1}`, Webhook: 1}, test)
	disabled := must(f.ChangeWebhook(t.Context(), by, 1, petcat.DisableWebhook)).Value
	wantEqual(t, "the state", "disabled", disabled.State())
	_, err := f.TestWebhook(t.Context(), by, 1)
	wantCode(t, err, petcat.CodeConflict)
	must(f.ChangeWebhook(t.Context(), by, 1, petcat.EnableWebhook))
	must(f.DeleteWebhook(t.Context(), by, 1))
	_, err = f.FindWebhook(t.Context(), 1)
	wantCode(t, err, petcat.CodeNotFound)

	lines := f.auditLines(t)[2:]
	actions := []string{"create", "rotate", "rotate", "test", "disable", "enable", "delete"}
	for i, action := range actions {
		wantEqual(t, "audit entry", `cli:ada webhook.`+action+` webhook 1 {"host":"example.com"}`, lines[i])
	}
	wantEqual(t, "audit entries", len(actions), len(lines))
	for range petcat.MaxWebhooks {
		must(f.CreateWebhook(t.Context(), by, newWebhook(t), petcat.NewSecret("whsec_YQ==")))
	}
	_, err = f.CreateWebhook(t.Context(), by, newWebhook(t), petcat.NewSecret("whsec_YQ=="))
	wantCode(t, err, petcat.CodeConflict)
}

// testDeliveries: the sender's result is stored with the delivery, unless an operator changed the webhook
// since. Only the last deliveries are kept.
func testDeliveries(t *testing.T, open Open) {
	f := start(t, open)
	by := petcat.By(operator)
	w := must(f.CreateWebhook(t.Context(), by, newWebhook(t), petcat.NewSecret("whsec_YQ=="))).Value
	save := func(d petcat.Delivery) bool {
		t.Helper()
		d.At = f.now()
		after := w.After(d)
		saved := must(f.SaveDelivery(t.Context(), w, after, &d))
		if saved {
			w = after
		}
		wantEqual(t, "the webhook", w, must(f.FindWebhook(t.Context(), w.ID)))
		return saved
	}
	wantEqual(t, "saved", true, save(petcat.Delivery{Event: 1, Type: "key.created", Attempt: 1, Status: 500, Response: "no"}))
	wantEqual(t, "the state", "failing", w.State())
	enabled := must(f.ChangeWebhook(t.Context(), by, w.ID, petcat.EnableWebhook)).Value
	stale := w
	w = enabled
	d := petcat.Delivery{Event: 1, Type: "key.created", Attempt: 2, Status: 500, At: f.now()}
	wantEqual(t, "saved by a late sender", false, must(f.SaveDelivery(t.Context(), stale, stale.After(d), &d)))
	for i := range 2 * petcat.MaxDeliveries {
		f.clock.Advance(time.Second)
		id := petcat.EventID(i + 1)
		wantEqual(t, "saved", true, save(petcat.Delivery{Event: id, Type: "key.created", Attempt: 1, Status: 204}))
	}
	f.wantRows(t, "deliveries", petcat.MaxDeliveries)
	for i, d := range must(f.Deliveries(t.Context(), w.ID)) {
		wantEqual(t, fmt.Sprint("delivery ", i), petcat.EventID(2*petcat.MaxDeliveries-i), d.Event)
	}
	w.Cursor += 5
	wantEqual(t, "skipped", true, must(f.SaveDelivery(t.Context(), must(f.FindWebhook(t.Context(), 1)), w, nil)))
	wantEqual(t, "the webhook", w, must(f.FindWebhook(t.Context(), w.ID)))
	save(petcat.Delivery{Event: w.Cursor + 1, Type: "key.created", Attempt: 1, Status: 410})
	wantEqual(t, "the state", "disabled", w.State())
	wantEqual(t, "saved while it is disabled", false, save(petcat.Delivery{Event: w.Cursor + 1, Attempt: 1, Status: 204}))
	must(f.DeleteWebhook(t.Context(), by, w.ID))
	f.wantRows(t, "deliveries", 0)
	_, err := f.Deliveries(t.Context(), w.ID)
	wantCode(t, err, petcat.CodeNotFound)
}
