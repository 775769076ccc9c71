package config

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		text string
		want time.Duration
	}{
		{"0", 0},
		{"30s", 30 * time.Second},
		{"24h", day},
		{"7d", 7 * day},
		{"2w", 14 * day},
		{"1w2d", 9 * day},
		{"1d12h30m", day + 12*time.Hour + 30*time.Minute},
		{"1.5h", 90 * time.Minute},
		{"106751d", 106751 * day},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := ParseDuration(c.text)
			if err != nil || got != c.want {
				t.Errorf("ParseDuration(%q) = %v, %v; want %v", c.text, got, err, c.want)
			}
		})
	}
}

func TestParseDurationRefuses(t *testing.T) {
	for _, text := range []string{
		"", "d", "7", "-1d", "+1d", "1.5d", "-1h", "1d-2h", "12h1d", "1d 2h", "106752d", "18446744073709551615w",
		"9223372036854775807d", "106751d24h", "week", "1y", "tomorrow", "١d",
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := ParseDuration(text); err == nil {
				t.Errorf("ParseDuration(%q) = %v; want an error", text, got)
			}
		})
	}
}
