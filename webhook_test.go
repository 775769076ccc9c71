package petcat_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

// TestWebhookNetworks: without permission, no address of the service's own network is called, in whatever
// form a name resolves to it.
func TestWebhookNetworks(t *testing.T) {
	allowed := petcat.WebhookNetworks{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32")}
	for address, want := range map[string]bool{
		"93.184.215.14":      true,
		"2606:2800:21f::1":   true,
		"10.1.2.3":           true, // allowed
		"::ffff:10.1.2.3":    true,
		"fd00:1::7":          true,
		"0.0.0.0":            false,
		"0.1.2.3":            false,
		"10.0.0.1":           false,
		"100.64.0.1":         false,
		"100.127.255.255":    false,
		"127.0.0.1":          false,
		"127.9.9.9":          false,
		"169.254.169.254":    false,
		"172.16.0.1":         false,
		"172.31.255.255":     false,
		"192.0.0.192":        false, // metadata of a cloud
		"192.168.1.1":        false,
		"198.18.0.1":         false,
		"224.0.0.1":          false,
		"240.0.0.1":          false,
		"255.255.255.255":    false,
		"::":                 false,
		"::1":                false,
		"::ffff:127.0.0.1":   false,
		"::ffff:a9fe:a9fe":   false,
		"::7f00:1":           false, // IPv4-compatible
		"64:ff9b::a9fe:a9fe": false, // NAT64
		"2001::1":            false, // Teredo
		"2002:7f00:1::":      false, // 6to4
		"2001:db8::1":        false,
		"fc00::1":            false,
		"fd00:ec2::254":      false, // metadata of a cloud
		"fd00:2::7":          false,
		"fe80::1":            false,
		"fe80::1%eth0":       false,
		"ff02::1":            false,
	} {
		if err := allowed.Check(netip.MustParseAddr(address), false); (err == nil) != want {
			t.Errorf("%s: %v, want allowed: %t", address, err, want)
		}
	}
	for address, want := range map[string]bool{"93.184.215.14": false, "10.1.2.3": true} {
		if err := allowed.Check(netip.MustParseAddr(address), true); (err == nil) != want {
			t.Errorf("%s without TLS: %v, want allowed: %t", address, err, want)
		}
	}
	if petcat.WebhookNetworks(nil).Check(netip.Addr{}, false) == nil {
		t.Error("no address at all is allowed")
	}
}

// TestParseNewWebhook: a URL that events can never be sent to is refused when the webhook is made.
func TestParseNewWebhook(t *testing.T) {
	private := petcat.WebhookNetworks{netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct {
		url      string
		networks petcat.WebhookNetworks
		want     petcat.Code
	}{
		{"https://example.com/hook?token=1", nil, ""},
		{"https://example.com:8443", nil, ""},
		{"http://receiver.internal/", private, ""},
		{"http://10.0.0.1:80/", private, ""},
		{"", nil, petcat.CodeMissingField},
		{"example.com", nil, petcat.CodeInvalidField},
		{"https://", nil, petcat.CodeInvalidField},
		{"https:///path", nil, petcat.CodeInvalidField},
		{"ftp://example.com/", nil, petcat.CodeInvalidField},
		{"http://example.com/", nil, petcat.CodeInvalidField},
		{"http://93.184.215.14/", private, petcat.CodeInvalidField},
		{"https://127.0.0.1/", private, petcat.CodeInvalidField},
		{"https://[::ffff:127.0.0.1]/", nil, petcat.CodeInvalidField},
		{"https://ada:secret@example.com/", nil, petcat.CodeInvalidField},
		{"https://example.com/#part", nil, petcat.CodeInvalidField},
		{"https://example.com/a b", nil, petcat.CodeInvalidField},
		{"https://exämple.com/", nil, petcat.CodeInvalidField},
	} {
		if _, err := petcat.ParseNewWebhook(c.url, nil, c.networks); petcat.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %q", c.url, err, c.want)
		}
	}
	if _, err := petcat.ParseNewWebhook("https://example.com/", []string{"key.lost"}, nil); petcat.CodeOf(err) != petcat.CodeInvalidField {
		t.Errorf("an unknown type: %v", err)
	}
}

// TestWebhookAfter: an event is tried at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 24 h. After
// the last attempt the webhook is disabled, after 410 at once.
func TestWebhookAfter(t *testing.T) {
	now := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	w := petcat.Webhook{Cursor: 6}
	want := []time.Duration{
		5 * time.Second,
		5 * time.Minute,
		30 * time.Minute,
		2 * time.Hour,
		5 * time.Hour,
		10 * time.Hour,
		24 * time.Hour,
	}
	for i, pause := range want {
		w = w.After(petcat.Delivery{Event: 7, Attempt: w.Attempts + 1, At: now, Status: 500})
		next := now.Add(pause)
		if w.Attempts != i+1 || w.Cursor != 6 || w.Due(7, next.Add(-1)) || !w.Due(7, next) {
			t.Errorf("after %d attempts: %+v, want the next one after %s", i+1, w, pause)
		}
		now = next
	}
	if delivered := w.After(petcat.Delivery{Event: 7, Status: 204}); delivered.Attempts != 0 || delivered.Due(7, now) {
		t.Errorf("delivered: %+v", delivered)
	}
	for name, lost := range map[string]petcat.Webhook{
		"after the last attempt": w.After(petcat.Delivery{Event: 7, Attempt: w.Attempts + 1, At: now}),
		"after 410":              petcat.Webhook{}.After(petcat.Delivery{Event: 7, Attempt: 1, At: now, Status: 410}),
	} {
		if lost.State() != "disabled" || lost.Failure == "" || lost.Due(7, now) {
			t.Errorf("%s: %+v, want it disabled", name, lost)
		}
		again := petcat.EnableWebhook.Apply(lost, now)
		if again.State() != "enabled" || again.Failure != "" || !again.Due(7, now) {
			t.Errorf("%s, enabled again: %+v", name, again)
		}
	}
}

// TestWants: a webhook gets the types that it selects, all if it selects none, and its own tests.
func TestWants(t *testing.T) {
	some, every := petcat.Webhook{ID: 1, Types: []petcat.EventType{petcat.EventKeyBanned}}, petcat.Webhook{ID: 2}
	for _, c := range []struct {
		event       petcat.Event
		some, every bool
	}{
		{petcat.Event{Type: petcat.EventKeyBanned}, true, true},
		{petcat.Event{Type: petcat.EventKeyCreated}, false, true},
		{petcat.Event{Type: petcat.EventWebhookTest, Webhook: 1}, true, false},
	} {
		if some.Wants(c.event) != c.some || every.Wants(c.event) != c.every {
			t.Errorf("%+v: %t, %t", c.event, some.Wants(c.event), every.Wants(c.event))
		}
	}
}

// TestPassedMark: the marks are of the whole quota, also of one so small that two marks are one request.
func TestPassedMark(t *testing.T) {
	for _, c := range []struct{ used, limit, want int64 }{
		{799, 1_000, 0}, {800, 1_000, 80}, {949, 1_000, 80}, {950, 1_000, 95}, {999, 1_000, 95}, {1_000, 1_000, 100},
		{1_200, 1_000, 100}, {7, 10, 0}, {8, 10, 80}, {9, 10, 80}, {10, 10, 100}, {0, 1, 0}, {1, 1, 100},
		{petcat.MaxQuota - 1, petcat.MaxQuota, 95}, {petcat.MaxQuota, petcat.MaxQuota, 100},
	} {
		if got := petcat.PassedMark(c.used, c.limit); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.used, c.limit, got, c.want)
		}
	}
}
