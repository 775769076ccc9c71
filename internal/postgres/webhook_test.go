package postgres

import (
	"sync"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/pgtest"
)

// TestWebhookChangeDuringDelivery: a webhook change waits for the delivery that the sender is storing, does
// not undo it, and does not fail because of it.
func TestWebhookChangeDuringDelivery(t *testing.T) {
	by := petcat.By("cli:ada")
	for name, want := range map[string]petcat.Code{
		"test":   petcat.CodeConflict, // the delivery disables the webhook
		"delete": "",
	} {
		t.Run(name, func(t *testing.T) {
			url := server.Database(t)
			s := openAt(t, url, Options{})
			defer closeNow(t, s)
			n, err := petcat.ParseNewWebhook("https://example.com", nil, nil)
			if err == nil {
				_, err = s.CreateWebhook(t.Context(), by, n, petcat.NewSecret("whsec_YQ=="))
			}
			if err != nil {
				t.Fatal(err)
			}
			conn := pgtest.Connect(t, url)
			pgtest.Execute(t, conn, "BEGIN")
			pgtest.Execute(t, conn, "UPDATE webhooks SET disabled_at = 1, failure = 'gone', cursor_id = 7")
			pgtest.Execute(t, conn, "INSERT INTO deliveries VALUES (1, 1, 8, 'key.created', 1, 410, '')")
			var wg sync.WaitGroup
			wg.Go(func() {
				if name == "test" {
					_, err = s.TestWebhook(t.Context(), by, 1)
				} else {
					_, err = s.DeleteWebhook(t.Context(), by, 1)
				}
			})
			awaitLock(t, url)
			pgtest.Execute(t, conn, "COMMIT")
			wg.Wait()
			if petcat.CodeOf(err) != want {
				t.Errorf("got %v, want %q", err, want)
			}
			if w, err := s.FindWebhook(t.Context(), 1); name == "test" && (err != nil || w.Failure != "gone" || w.Cursor != 7) {
				t.Errorf("the webhook is %+v, %v", w, err)
			}
		})
	}
}
