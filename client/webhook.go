package petcat

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Event is an event in a message to a webhook. New types and members of Data may be added.
type Event struct {
	ID        int64           `json:"id"`   // in the order of events
	Type      string          `json:"type"` // such as "quota.warning"
	Timestamp time.Time       `json:"timestamp"`
	Data      json.RawMessage `json:"data"` // a JSON object, by type
}

// webhookTolerance is how old a message may be, and how far from the future.
const webhookTolerance = 5 * time.Minute

// ErrWebhook is in the error of a message that the service did not send, or not in the last 5 minutes.
var ErrWebhook = errors.New("not a message of the service")

// VerifyWebhook returns the event of a message to a webhook. secret is the webhook's, which begins with
// whsec_, and body the whole body as it arrived. A receiver may get the same event twice, with the same ID.
//
// It returns an error with [ErrWebhook] if the signature of Standard Webhooks is not valid: respond with
// 401 then, and with any 2xx otherwise, within 15 seconds.
func VerifyWebhook(secret string, h http.Header, body []byte) (Event, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return Event{}, errors.New("the secret of the webhook must be the text that begins with whsec_")
	}
	id, timestamp := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	sent, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" {
		return Event{}, fmt.Errorf("%w: the headers webhook-id and webhook-timestamp are missing", ErrWebhook)
	}
	if age := now().Sub(time.Unix(sent, 0)); age > webhookTolerance || age < -webhookTolerance {
		return Event{}, fmt.Errorf("%w: it is from %s; check this machine's clock", ErrWebhook, time.Unix(sent, 0).UTC())
	}
	signed := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(signed, "%s.%s.%s", id, timestamp, body)
	want := "v1," + base64.StdEncoding.EncodeToString(signed.Sum(nil))
	for signature := range strings.FieldsSeq(h.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(signature), []byte(want)) {
			var e Event
			if err := json.Unmarshal(body, &e); err != nil {
				return Event{}, fmt.Errorf("read the event: %w", err)
			}
			return e, nil
		}
	}
	return Event{}, fmt.Errorf("%w: no signature matches", ErrWebhook)
}
