package petcat

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// WebhookID identifies a webhook: from 1, never reused.
type WebhookID int64

// Webhook is a URL of an operator to which events are sent, in their order, one at a time.
type Webhook struct {
	ID         WebhookID
	URL        string // the path or the query may contain a secret
	Types      []EventType
	CreatedAt  time.Time
	DisabledAt time.Time // zero while events are sent
	// Failure is why petcat disabled the webhook; "" if an operator did, or if it is enabled.
	Failure string
	Cursor  EventID // the last event that was delivered or that its types exclude
	// Attempts is the number of failed attempts to send the event after the cursor.
	Attempts int
	NextAt   time.Time // of the next attempt, at the earliest
	// OverlapEnds is the time until which events are also signed with the secret before the last
	// rotation; zero without one.
	OverlapEnds time.Time
}

// String returns the form that the audit log shows, such as "webhook 3".
func (id WebhookID) String() string { return "webhook " + strconv.FormatInt(int64(id), 10) }

// State returns enabled, failing or disabled.
func (w Webhook) State() string {
	switch {
	case !w.DisabledAt.IsZero():
		return "disabled"
	case w.Attempts > 0:
		return "failing"
	default:
		return "enabled"
	}
}

// Host returns the host of the URL, which does not contain a secret.
func (w Webhook) Host() string {
	u, err := url.Parse(w.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// Due reports whether the webhook has events to send at now. newest is the newest event.
func (w Webhook) Due(newest EventID, now time.Time) bool {
	return w.DisabledAt.IsZero() && w.Cursor < newest && !now.Before(w.NextAt)
}

// Wants reports whether the webhook gets an event.
func (w Webhook) Wants(e Event) bool {
	if e.Webhook != 0 {
		return e.Webhook == w.ID
	}
	return len(w.Types) == 0 || slices.Contains(w.Types, e.Type)
}

// Delivery is an attempt to send an event.
type Delivery struct {
	Event    EventID
	Type     EventType
	Attempt  int       // from 1
	At       time.Time // its end
	Status   int       // of the response, 0 without one
	Response string    // the start of the response's body, or why there is no response
}

// MaxDeliveries is the number of deliveries of a webhook that are kept.
const MaxDeliveries = 20

// MaxResponse is the maximum length of [Delivery.Response], in bytes.
const MaxResponse = 200

// statusGone is the response of a receiver that does not want more events.
const statusGone = 410

// Delivered reports whether the receiver has the event.
func (d Delivery) Delivered() bool { return d.Status >= 200 && d.Status <= 299 }

// WebhookRetries returns the pauses after the failed attempts to send an event.
func WebhookRetries() []time.Duration {
	return []time.Duration{
		5 * time.Second,
		5 * time.Minute,
		30 * time.Minute,
		2 * time.Hour,
		5 * time.Hour,
		10 * time.Hour,
		24 * time.Hour,
	}
}

// After returns the webhook after a delivery.
func (w Webhook) After(d Delivery) Webhook {
	retries := WebhookRetries()
	switch {
	case d.Delivered():
		w.Cursor, w.Attempts = d.Event, 0
		return w
	case d.Status == statusGone:
		w.Failure = "the receiver returned 410, which ends the deliveries"
	case d.Attempt > len(retries):
		w.Failure = fmt.Sprintf("event %d could not be delivered in %d attempts", d.Event, d.Attempt)
	default:
		w.Attempts, w.NextAt = d.Attempt, d.At.Add(retries[d.Attempt-1])
		return w
	}
	w.Attempts, w.DisabledAt = d.Attempt, d.At
	return w
}

// WebhookAction is a change to a webhook's state.
type WebhookAction string

// The webhook actions.
const (
	// EnableWebhook sends the events since the last delivered one, if they are kept.
	EnableWebhook  WebhookAction = "enable"
	DisableWebhook WebhookAction = "disable"
)

// Apply returns the webhook after the action at now. Actions are idempotent. An enabled webhook is tried
// again at once.
func (a WebhookAction) Apply(w Webhook, now time.Time) Webhook {
	switch {
	case a == EnableWebhook:
		w.DisabledAt, w.Failure, w.Attempts, w.NextAt = time.Time{}, "", 0, now
	case w.DisabledAt.IsZero():
		w.DisabledAt = now
	default:
		w.Failure = "" // an operator has seen it
	}
	return w
}

// MaxWebhooks is the maximum number of webhooks.
const MaxWebhooks = 50

// NewWebhook is a valid webhook to be created. Only [ParseNewWebhook] makes one.
type NewWebhook struct {
	url   string
	types []EventType
}

// URL returns the URL.
func (n NewWebhook) URL() string { return n.url }

// Types returns the types of the events that are sent, none for all.
func (n NewWebhook) Types() []EventType { return n.types }

// maxWebhookURL is the maximum length of a webhook's URL in bytes.
const maxWebhookURL = 2_000

// ParseNewWebhook checks a URL and the event types, none for all. It returns an [Error] with
// [CodeMissingField] or [CodeInvalidField]. The addresses of a host's name are checked before each
// delivery.
func ParseNewWebhook(address string, types []string, networks WebhookNetworks) (NewWebhook, error) {
	n := NewWebhook{url: address}
	if err := checkWebhookURL(address, networks); err != nil {
		return NewWebhook{}, err
	}
	for _, text := range types {
		t, err := ParseEventType(text)
		if err != nil {
			return NewWebhook{}, err
		}
		n.types = append(n.types, t)
	}
	return n, nil
}

func checkWebhookURL(address string, networks WebhookNetworks) error {
	wrong := func(rule string) error { return Errorf(CodeInvalidField, "url must %s", rule).In("url") }
	if address == "" {
		return missing("url")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || len(address) > maxWebhookURL || strings.ContainsFunc(address, notVisible):
		return wrong("be a URL such as https://example.com/petcat, in visible ASCII characters, at most 2,000")
	case u.User != nil || u.Fragment != "":
		return wrong("not contain a user, a password or a fragment")
	case u.Scheme != "https" && u.Scheme != "http":
		return wrong("begin with https://")
	case u.Scheme == "http" && len(networks) == 0:
		return wrong("begin with https://; http is for receivers in the networks of --webhook-allow (PETCAT_WEBHOOK_ALLOW)")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return networks.Check(ip, u.Scheme == "http")
	}
	return nil
}

func notVisible(c rune) bool { return c <= ' ' || c > '~' }

// webhookSecretPrefix is the prefix of secrets in Standard Webhooks.
const webhookSecretPrefix = "whsec_"

// GenerateWebhookSecret makes a secret of 32 bytes from a source of cryptographically secure random
// bytes, in the form of Standard Webhooks.
func GenerateWebhookSecret(random io.Reader) (Secret, error) {
	var key [32]byte
	if _, err := io.ReadFull(random, key[:]); err != nil {
		return Secret{}, fmt.Errorf("read random bytes: %w", err)
	}
	return NewSecret(webhookSecretPrefix + base64.StdEncoding.EncodeToString(key[:])), nil
}

// WebhookKey returns the bytes of a secret, with which messages are signed.
func WebhookKey(s Secret) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.TrimPrefix(s.Reveal(), webhookSecretPrefix))
}

// WebhookRotation replaces the secret of a webhook.
type WebhookRotation struct {
	Webhook WebhookID
	Secret  Secret        // the new one
	Overlap time.Duration // from 0 to [MaxOverlap], in which the old one also signs
}

// WebhookStore keeps webhooks. Every change by an author commits together with its audit entry. The
// methods return an [Error] with [CodeNotFound] if the webhook does not exist.
type WebhookStore interface {
	// CreateWebhook returns an [Error] with [CodeConflict] if there are [MaxWebhooks]. The webhook gets
	// the events after its creation.
	CreateWebhook(ctx context.Context, by Author, n NewWebhook, secret Secret) (Result[Webhook], error)
	// Webhooks returns all webhooks, by id.
	Webhooks(ctx context.Context) ([]Webhook, error)
	FindWebhook(ctx context.Context, id WebhookID) (Webhook, error)
	// Deliveries returns the last [MaxDeliveries], newest first.
	Deliveries(ctx context.Context, id WebhookID) ([]Delivery, error)
	// ChangeWebhook returns the webhook after the action. See [WebhookAction.Apply]. It returns an [Error]
	// with [CodeConflict] for a webhook from a backup, which lacks its secret.
	ChangeWebhook(ctx context.Context, by Author, id WebhookID, a WebhookAction) (Result[Webhook], error)
	// RotateWebhook replaces the secret.
	RotateWebhook(ctx context.Context, by Author, r WebhookRotation) (Result[Webhook], error)
	// TestWebhook writes an [EventWebhookTest], and tries a failing webhook at once. It returns an [Error]
	// with [CodeConflict] for a disabled one.
	TestWebhook(ctx context.Context, by Author, id WebhookID) (Result[Webhook], error)
	// DeleteWebhook returns the deleted webhook.
	DeleteWebhook(ctx context.Context, by Author, id WebhookID) (Result[Webhook], error)

	// WebhookSecrets returns the secrets that sign events at now: one, or two in an overlap.
	WebhookSecrets(ctx context.Context, id WebhookID) ([]Secret, error)
	// SaveDelivery stores the webhook after a delivery, and the delivery unless it is nil. If the stored webhook
	// differs from before, it reports false and does not store anything.
	SaveDelivery(ctx context.Context, before, after Webhook, d *Delivery) (saved bool, err error)
}
