package petcat_test

import (
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func TestParsePlan(t *testing.T) {
	for _, plan := range petcat.Plans() {
		for _, text := range []string{string(plan), strings.ToUpper(string(plan))} {
			if got, err := petcat.ParsePlan(text); got != plan || err != nil {
				t.Errorf("ParsePlan(%q) = %q, %v", text, got, err)
			}
		}
	}
	for _, text := range []string{"", "gold", "pro "} {
		if got, err := petcat.ParsePlan(text); petcat.CodeOf(err) != petcat.CodeInvalidField {
			t.Errorf("ParsePlan(%q) = %q, %v", text, got, err)
		}
	}
}

func TestParseSubscription(t *testing.T) {
	const most = petcat.MaxQuota
	for _, c := range []struct {
		name, plan string
		minute     int64
		day        int64
		want       petcat.Quota
		code       petcat.Code
	}{
		{"free", "free", 0, 0, petcat.Quota{PerMinute: 60, PerDay: 1_000}, ""},
		{"pro in upper case", "PRO", 0, 0, petcat.Quota{PerMinute: 300, PerDay: 10_000}, ""},
		{"business", "business", 0, 0, petcat.Quota{PerMinute: 1_000, PerDay: 100_000}, ""},
		{"enterprise", "enterprise", 5_000, 2_000_000, petcat.Quota{PerMinute: 5_000, PerDay: 2_000_000}, ""},
		{"largest enterprise", "enterprise", most, most, petcat.Quota{PerMinute: most, PerDay: most}, ""},

		{"no plan", "", 0, 0, petcat.Quota{}, petcat.CodeMissingField},
		{"unknown plan", "gold", 0, 0, petcat.Quota{}, petcat.CodeInvalidField},
		{"pro with a number", "pro", 0, 10_000, petcat.Quota{}, petcat.CodeInvalidField},
		{"enterprise without numbers", "enterprise", 0, 0, petcat.Quota{}, petcat.CodeMissingField},
		{"enterprise without the minute", "enterprise", 0, 5, petcat.Quota{}, petcat.CodeMissingField},
		{"enterprise above the maximum", "enterprise", 1, most + 1, petcat.Quota{}, petcat.CodeInvalidField},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := petcat.ParseSubscription(c.plan, c.minute, c.day)
			wantCode(t, err, c.code)
			if s.Quota() != c.want {
				t.Errorf("quota %+v, want %+v", s.Quota(), c.want)
			}
		})
	}
}
