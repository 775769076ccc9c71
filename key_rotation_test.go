package petcat_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
)

func TestRotation(t *testing.T) {
	const day = 24 * time.Hour
	generator := petcat.KeyGenerator{Environment: petcat.Production, Random: seeded(1)}
	created := noon.Add(-10 * day)
	end := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, c := range []struct {
		name           string
		overlap        time.Duration
		old            petcat.Key
		oldEnd, newEnd time.Time
		code           petcat.Code
	}{
		{"no overlap", 0, petcat.Key{}, noon, time.Time{}, ""},
		{"overlap", day, petcat.Key{}, noon.Add(day), time.Time{}, ""},
		{
			"same lifetime", day, petcat.Key{CreatedAt: created, ExpiresAt: created.Add(90 * day)}, noon.Add(day),
			noon.Add(90 * day), "",
		},
		{
			"old key expires within the overlap", 30 * day, petcat.Key{CreatedAt: created, ExpiresAt: noon.Add(day)},
			noon.Add(day), noon.Add(11 * day), "",
		},
		{"read-only", 0, petcat.Key{ReadOnly: true}, noon, time.Time{}, ""},
		{"expiry in the year 9999", 0, petcat.Key{CreatedAt: created, ExpiresAt: end}, noon, end, ""},
		{"revoked", 0, petcat.Key{RevokedAt: created}, time.Time{}, time.Time{}, petcat.CodeConflict},
		{"disabled", 0, petcat.Key{DisabledAt: created}, time.Time{}, time.Time{}, petcat.CodeConflict},
		{"expired", 0, petcat.Key{ExpiresAt: noon}, time.Time{}, time.Time{}, petcat.CodeConflict},
		{"rotated already", 0, petcat.Key{Successor: 3}, time.Time{}, time.Time{}, petcat.CodeConflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _, err := generator.Rotation(1, c.overlap)
			if err != nil {
				t.Fatal(err)
			}
			old := c.old
			old.ID, old.Account, old.Label = 1, 2, "label"
			oldAfter, successor, err := r.Apply(old, noon)
			wantCode(t, err, c.code)
			if err != nil {
				return
			}
			old.ExpiresAt = c.oldEnd
			want := petcat.Key{
				Account:   2,
				Label:     "label",
				Hint:      r.Generated().Hint,
				ReadOnly:  c.old.ReadOnly,
				CreatedAt: noon,
				ExpiresAt: c.newEnd,
			}
			if diff := cmp.Diff([]petcat.Key{old, want}, []petcat.Key{oldAfter, successor}); diff != "" {
				t.Errorf("old and new key (-want +got)\n%s", diff)
			}
		})
	}
	for _, overlap := range []time.Duration{-1, 30*day + 1} {
		_, _, err := generator.Rotation(1, overlap)
		wantCode(t, err, petcat.CodeInvalidField)
	}
}
