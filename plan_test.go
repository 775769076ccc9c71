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
	business := petcat.Storage{Categories: 500_000, Bytes: 100 << 20}
	for _, c := range []struct {
		name        string
		plan        string
		quota       petcat.Quota
		storage     petcat.Storage
		want        petcat.Quota
		wantStorage petcat.Storage
		code        petcat.Code
	}{
		{
			name:        "free",
			plan:        "free",
			want:        petcat.Quota{PerMinute: 60, PerDay: 1_000},
			wantStorage: petcat.Storage{Categories: 10_000, Bytes: 2 << 20},
		},
		{
			name:        "pro in upper case",
			plan:        "PRO",
			want:        petcat.Quota{PerMinute: 300, PerDay: 10_000},
			wantStorage: petcat.Storage{Categories: 100_000, Bytes: 20 << 20},
		},
		{
			name:        "business",
			plan:        "business",
			want:        petcat.Quota{PerMinute: 1_000, PerDay: 100_000},
			wantStorage: business,
		},
		{
			name:        "enterprise has the storage of business by default",
			plan:        "enterprise",
			quota:       petcat.Quota{PerMinute: 5_000, PerDay: 2_000_000},
			want:        petcat.Quota{PerMinute: 5_000, PerDay: 2_000_000},
			wantStorage: business,
		},
		{
			name:        "enterprise with one number of its own",
			plan:        "enterprise",
			quota:       petcat.Quota{PerMinute: 1, PerDay: 1},
			storage:     petcat.Storage{Categories: 7},
			want:        petcat.Quota{PerMinute: 1, PerDay: 1},
			wantStorage: petcat.Storage{Categories: 7, Bytes: 100 << 20},
		},
		{
			name:        "largest enterprise",
			plan:        "enterprise",
			quota:       petcat.Quota{PerMinute: most, PerDay: most},
			storage:     petcat.Storage{Categories: most, Bytes: most},
			want:        petcat.Quota{PerMinute: most, PerDay: most},
			wantStorage: petcat.Storage{Categories: most, Bytes: most},
		},

		{name: "no plan", plan: "", code: petcat.CodeMissingField},
		{name: "unknown plan", plan: "gold", code: petcat.CodeInvalidField},
		{name: "pro with a quota", plan: "pro", quota: petcat.Quota{PerDay: 10_000}, code: petcat.CodeInvalidField},
		{name: "pro with storage", plan: "pro", storage: petcat.Storage{Bytes: 1}, code: petcat.CodeInvalidField},
		{name: "enterprise without quotas", plan: "enterprise", code: petcat.CodeMissingField},
		{name: "without the minute", plan: "enterprise", quota: petcat.Quota{PerDay: 5}, code: petcat.CodeMissingField},
		{
			name:  "a quota above the maximum",
			plan:  "enterprise",
			quota: petcat.Quota{PerMinute: 1, PerDay: most + 1},
			code:  petcat.CodeInvalidField,
		},
		{
			name:    "negative storage",
			plan:    "enterprise",
			quota:   petcat.Quota{PerMinute: 1, PerDay: 1},
			storage: petcat.Storage{Categories: -1},
			code:    petcat.CodeInvalidField,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := petcat.ParseSubscription(c.plan, c.quota, c.storage)
			wantCode(t, err, c.code)
			if s.Quota() != c.want || s.Storage() != c.wantStorage {
				t.Errorf("%+v and %+v, want %+v and %+v", s.Quota(), s.Storage(), c.want, c.wantStorage)
			}
		})
	}
}
