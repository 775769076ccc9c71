package main

import (
	"testing"
	"time"
)

// expiryNow is not a whole second, as no real moment is.
var expiryNow = time.Date(2026, 11, 20, 12, 0, 0, 500_000_000, time.UTC)

func TestParseExpiry(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"90d", "2027-02-18T12:00:01Z"},
		{"1s", "2026-11-20T12:00:02Z"},
		{"2027-01-31", "2027-01-31T00:00:00Z"},
		{"2028-02-29", "2028-02-29T00:00:00Z"},
		{"2027-01-31T18:00:00Z", "2027-01-31T18:00:00Z"},
		{"2027-01-31T18:00:00.9+02:00", "2027-01-31T16:00:00Z"},
		{"1999-12-31", "1999-12-31T00:00:00Z"}, // the domain refuses the past
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := parseExpiry(c.text, expiryNow)
			if err != nil || timestamp(got) != c.want {
				t.Errorf("parseExpiry(%q) = %v, %v; want %s", c.text, got, err, c.want)
			}
		})
	}
}

func TestParseExpiryRefuses(t *testing.T) {
	for _, text := range []string{"", "never", "2027-02-29", "2027-13-01", "31.1.2027", "2027-01-31 18:00", "90", "-90d", "12027-01-01"} {
		t.Run(text, func(t *testing.T) {
			if got, err := parseExpiry(text, expiryNow); err == nil {
				t.Errorf("parseExpiry(%q) = %v; want an error", text, got)
			}
		})
	}
}
