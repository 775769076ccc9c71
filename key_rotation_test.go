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
	rotated := petcat.Key{CreatedAt: created, ExpiresAt: noon.Add(day), Successor: 3}
	past := noon.Add(-petcat.RotationPause)
	end := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, c := range []struct {
		name           string
		overlap        time.Duration
		old            petcat.Key
		lost           petcat.Key // the successor of an earlier rotation
		own            bool
		oldEnd, newEnd time.Time
		code           petcat.Code
	}{
		{name: "no overlap", oldEnd: noon},
		{name: "overlap", overlap: day, oldEnd: noon.Add(day)},
		{
			name: "same lifetime", overlap: day, old: petcat.Key{
				CreatedAt: created,
				ExpiresAt: created.Add(90 * day),
			},
			oldEnd: noon.Add(day), newEnd: noon.Add(90 * day),
		},
		{
			name: "old key expires within the overlap", overlap: 30 * day,
			old:    petcat.Key{CreatedAt: created, ExpiresAt: noon.Add(day)},
			oldEnd: noon.Add(day), newEnd: noon.Add(11 * day),
		},
		{name: "read-only, in a network", old: petcat.Key{ReadOnly: true, Networks: "192.0.2.0/24"}, oldEnd: noon},
		{name: "expiry in the year 9999", old: petcat.Key{CreatedAt: created, ExpiresAt: end}, oldEnd: noon, newEnd: end},
		{name: "revoked", old: petcat.Key{RevokedAt: created}, code: petcat.CodeConflict},
		{name: "disabled", old: petcat.Key{DisabledAt: created}, code: petcat.CodeConflict},
		{name: "expired", old: petcat.Key{ExpiresAt: noon}, code: petcat.CodeConflict},
		{
			name: "rotated already", overlap: day, old: rotated, lost: petcat.Key{
				ID:        3,
				CreatedAt: created,
			},
			code: petcat.CodeConflict,
		},
		{
			name: "with the key itself", own: true, overlap: day, old: petcat.Key{}, oldEnd: noon.Add(day),
		},
		{
			name: "again, after a lost response", own: true, overlap: 2 * day, old: rotated,
			lost: petcat.Key{
				ID:        3,
				CreatedAt: past,
				ExpiresAt: past.Add(90 * day),
			}, oldEnd: noon.Add(day),
			newEnd: noon.Add(90 * day),
		},
		{
			name: "again, with a shorter overlap", own: true, overlap: time.Hour, old: rotated,
			lost: petcat.Key{ID: 3, CreatedAt: past}, oldEnd: noon.Add(time.Hour),
		},
		{
			name: "again, too soon", own: true, overlap: day, old: rotated,
			lost: petcat.Key{ID: 3, CreatedAt: past.Add(1)}, code: petcat.CodeConflict,
		},
		{
			name: "again, the successor was used", own: true, overlap: day, old: rotated,
			lost: petcat.Key{ID: 3, CreatedAt: past, UsedAt: noon}, code: petcat.CodeConflict,
		},
		{
			name: "again, the successor is disabled", own: true, overlap: day, old: rotated,
			lost: petcat.Key{ID: 3, CreatedAt: past, DisabledAt: noon}, code: petcat.CodeConflict,
		},
		{
			name: "again, the successor is revoked", own: true, overlap: day, old: rotated,
			lost: petcat.Key{ID: 3, CreatedAt: past, RevokedAt: noon}, code: petcat.CodeConflict,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rotation := generator.Rotation
			if c.own {
				rotation = generator.OwnRotation
			}
			r, _, err := rotation(1, c.overlap)
			if err != nil {
				t.Fatal(err)
			}
			old := c.old
			old.ID, old.Account, old.Label = 1, 2, "label"
			oldAfter, successor, err := r.Apply(old, c.lost, noon)
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
				Networks:  c.old.Networks,
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
	for _, overlap := range []time.Duration{0, 5*time.Minute - 1, 30*day + 1} {
		_, _, err := generator.OwnRotation(1, overlap)
		wantCode(t, err, petcat.CodeInvalidField)
	}
}
