//go:build go1.25

package petcat_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petcat-api/petcat/client"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// signed returns the headers of a message.
func signed(t *testing.T, at time.Time, body string) http.Header {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(webhookSecret[len("whsec_"):])
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "evt_1.%d.%s", at.Unix(), body)
	h := http.Header{}
	h.Set("webhook-id", "evt_1")
	h.Set("webhook-timestamp", fmt.Sprint(at.Unix()))
	h.Set("webhook-signature", "v1,AAAA v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return h
}

// TestVerifyWebhook: only a message with a valid signature, not older than 5 minutes, is an event.
func TestVerifyWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const body = `{"id":7,"type":"quota.warning","timestamp":"2027-03-04T12:00:00Z","data":{"percent":80}}`
		got, err := petcat.VerifyWebhook(webhookSecret, signed(t, time.Now(), body), []byte(body))
		if err != nil || got.ID != 7 || got.Type != "quota.warning" || string(got.Data) != `{"percent":80}` {
			t.Errorf("got %+v, %v", got, err)
		}
		valid := signed(t, time.Now(), body)
		valid.Set("webhook-signature", valid.Get("webhook-signature")[len("v1,AAAA "):])
		version2 := strings.Replace(valid.Get("webhook-signature"), "v1", "v2", 1)
		for name, c := range map[string]struct {
			header, value string
			body          string
		}{
			"another body":      {"", "", body + " "},
			"another id":        {"webhook-id", "evt_2", body},
			"another time":      {"webhook-timestamp", fmt.Sprint(time.Now().Unix() + 1), body},
			"no time":           {"webhook-timestamp", "", body},
			"no id":             {"webhook-id", "", body},
			"no signature":      {"webhook-signature", "", body},
			"another version":   {"webhook-signature", version2, body},
			"an empty one":      {"webhook-signature", "v1,", body},
			"the version alone": {"webhook-signature", "v1", body},
		} {
			h := valid.Clone()
			if c.header != "" {
				h.Set(c.header, c.value)
			}
			if _, err := petcat.VerifyWebhook(webhookSecret, h, []byte(c.body)); !errors.Is(err, petcat.ErrWebhook) {
				t.Errorf("%s: %v, want ErrWebhook", name, err)
			}
		}
		for age, valid := range map[time.Duration]bool{
			5 * time.Minute:              true,
			5*time.Minute + time.Second:  false,
			-5 * time.Minute:             true,
			-5*time.Minute - time.Second: false,
		} {
			_, err := petcat.VerifyWebhook(webhookSecret, signed(t, time.Now().Add(-age), body), []byte(body))
			if (err == nil) != valid {
				t.Errorf("sent %s ago: %v", age, err)
			}
		}
		for _, wrong := range []string{"", "whsec_", "whsec_*"} {
			_, err := petcat.VerifyWebhook(wrong, signed(t, time.Now(), body), []byte(body))
			if err == nil || errors.Is(err, petcat.ErrWebhook) {
				t.Errorf("the secret %q: %v, want another error", wrong, err)
			}
		}
	})
}
