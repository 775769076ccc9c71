// Package webhooks tests the Go client against the official library of Standard Webhooks. It is a
// separate module, so that only it depends on that library.
package webhooks

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	petcat "github.com/petcat-api/petcat/client"
)

// TestOfficialLibrary: the client accepts what the official library signs, and only with its secret. The
// end-to-end tests check what the service signs with the client.
func TestOfficialLibrary(t *testing.T) {
	const secret, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	body := []byte(`{"id":7,"type":"quota.warning","timestamp":"2027-03-04T12:00:00Z","data":{"percent":80}}`)
	for with, valid := range map[string]bool{secret: true, other: false} {
		signer, err := standard.NewWebhook(with)
		if err != nil {
			t.Fatal(err)
		}
		sent := time.Now()
		signature, err := signer.Sign("evt_1", sent, body)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		h.Set("webhook-id", "evt_1")
		h.Set("webhook-timestamp", strconv.FormatInt(sent.Unix(), 10))
		h.Set("webhook-signature", signature)
		if e, err := petcat.VerifyWebhook(secret, h, body); (err == nil) != valid || valid && e.ID != 7 {
			t.Errorf("signed with %s: %+v, %v", with, e, err)
		}
	}
}
