package petcat_test

import (
	"strings"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func TestKeyAction(t *testing.T) {
	before := noon.Add(-time.Hour)
	for _, c := range []struct {
		name   string
		action petcat.KeyAction
		key    petcat.Key
		want   petcat.Key
		code   petcat.Code
	}{
		{"disable", petcat.DisableKey, petcat.Key{ID: 1}, petcat.Key{ID: 1, DisabledAt: noon}, ""},
		{"disable again", petcat.DisableKey, petcat.Key{DisabledAt: before}, petcat.Key{DisabledAt: before}, ""},
		{"enable", petcat.EnableKey, petcat.Key{DisabledAt: before}, petcat.Key{}, ""},
		{
			"revoke", petcat.RevokeKey, petcat.Key{DisabledAt: before}, petcat.Key{
				DisabledAt: before,
				RevokedAt:  noon,
			},
			"",
		},
		{"revoke again", petcat.RevokeKey, petcat.Key{RevokedAt: before}, petcat.Key{RevokedAt: before}, ""},
		{
			"enable a revoked key", petcat.EnableKey, petcat.Key{RevokedAt: before}, petcat.Key{},
			petcat.CodeConflict,
		},
		{
			"disable a revoked key", petcat.DisableKey, petcat.Key{RevokedAt: before}, petcat.Key{},
			petcat.CodeConflict,
		},
		{
			"report", petcat.ReportLeakedKey, petcat.Key{ID: 1}, petcat.Key{
				ID:         1,
				DisabledAt: noon,
				LeakedAt:   noon,
			}, "",
		},
		{
			"report a disabled key", petcat.ReportLeakedKey, petcat.Key{DisabledAt: before},
			petcat.Key{DisabledAt: before, LeakedAt: noon}, "",
		},
		{
			"report again", petcat.ReportLeakedKey, petcat.Key{
				DisabledAt: before,
				LeakedAt:   before,
			},
			petcat.Key{DisabledAt: before, LeakedAt: before}, "",
		},
		{
			"report again a key that was enabled", petcat.ReportLeakedKey, petcat.Key{LeakedAt: before},
			petcat.Key{DisabledAt: noon, LeakedAt: noon}, "",
		},
		{
			"report a revoked key", petcat.ReportLeakedKey, petcat.Key{RevokedAt: before}, petcat.Key{RevokedAt: before}, "",
		},
		{
			"enable a replaced key, which stays expired", petcat.EnableKey,
			petcat.Key{DisabledAt: before, ExpiresAt: before, Successor: 2},
			petcat.Key{ExpiresAt: before, Successor: 2}, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.action.Apply(c.key, noon)
			wantCode(t, err, c.code)
			if got != c.want {
				t.Errorf("key %+v, want %+v", got, c.want)
			}
		})
	}
}

func keyEdit(t *testing.T, label *string, expiresAt *time.Time) petcat.KeyEdit {
	t.Helper()
	e, err := petcat.ParseKeyEdit(label, expiresAt, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestKeyEdit: no edit revives a key that is revoked, or replaced and past its overlap. Within the
// overlap, the expiry is only brought forward. Only operators extend an expired key.
func TestKeyEdit(t *testing.T) {
	const customer, operator = petcat.Actor("customer acct_7"), petcat.Actor("operator ada")
	past, soon, later, never := noon.Add(-time.Hour), noon.Add(time.Hour), noon.Add(2*time.Hour), time.Time{}
	live := petcat.Key{ID: 1, ExpiresAt: later}
	expired := petcat.Key{ID: 1, ExpiresAt: past}
	overlapping := petcat.Key{ID: 1, ExpiresAt: soon, Successor: 2}
	replaced := petcat.Key{ID: 1, ExpiresAt: past, Successor: 2}
	revoked := petcat.Key{ID: 1, RevokedAt: past}
	for _, c := range []struct {
		name      string
		key       petcat.Key
		expiresAt time.Time
		operator  bool // may make this change
		customer  bool
	}{
		{"a key expires earlier", live, soon, true, true},
		{"a key expires later", live, later.Add(time.Hour), true, true},
		{"a key never expires", live, never, true, true},
		{"a disabled key expires later", petcat.Key{ID: 1, DisabledAt: past, ExpiresAt: soon}, later, true, true},
		{"an expired key is extended", expired, soon, true, false},
		{"an expired key gets no expiry", expired, never, true, false},
		{
			"an expired and disabled key is extended", petcat.Key{
				ID:         1,
				DisabledAt: past,
				ExpiresAt:  past,
			}, soon, true,
			false,
		},
		{"the overlap is shortened", overlapping, soon.Add(-time.Minute), true, true},
		{"the overlap is unchanged", overlapping, soon, true, true},
		{"the overlap is extended", overlapping, later, false, false},
		{"the overlap never ends", overlapping, never, false, false},
		{"a replaced key is revived", replaced, soon, false, false},
		{"a replaced key gets no expiry", replaced, never, false, false},
		{
			"a disabled and replaced key is revived",
			petcat.Key{ID: 1, DisabledAt: past, ExpiresAt: past, Successor: 2}, soon, false, false,
		},
		{"a revoked key is edited", revoked, soon, false, false},
		{"a revoked key is unchanged", revoked, never, false, false},
		{
			"a revoked and replaced key is revived", petcat.Key{
				ID:        1,
				RevokedAt: past,
				ExpiresAt: past,
				Successor: 2,
			},
			never, false, false,
		},
	} {
		c.key.Account = 7
		edit := keyEdit(t, nil, &c.expiresAt)
		for by, allowed := range map[petcat.Actor]bool{operator: c.operator, customer: c.customer} {
			t.Run(c.name+" by "+string(by), func(t *testing.T) {
				want, code := c.key, petcat.CodeConflict
				want.ExpiresAt = c.expiresAt
				if allowed {
					code = ""
				} else {
					want = petcat.Key{}
				}
				got, err := edit.Apply(c.key, by, noon)
				wantCode(t, err, code)
				if got != want {
					t.Errorf("the key %+v, want %+v", got, want)
				}
			})
		}
	}
}

// TestKeyEditLabel: the label changes in every state but revoked, and the expiry stays.
func TestKeyEditLabel(t *testing.T) {
	past, label := noon.Add(-time.Hour), "backend"
	edit := keyEdit(t, &label, nil)
	for name, k := range map[string]petcat.Key{
		"active":      {},
		"disabled":    {DisabledAt: past},
		"expired":     {ExpiresAt: past},
		"overlapping": {ExpiresAt: noon.Add(time.Hour), Successor: 2},
		"replaced":    {ExpiresAt: past, Successor: 2},
	} {
		want := k
		want.Label = label
		if got, err := edit.Apply(k, "customer acct_7", noon); err != nil || got != want {
			t.Errorf("%s: the key %+v, want %+v; %v", name, got, want, err)
		}
	}
	networks := petcat.Networks("192.0.2.0/24")
	moved, err := petcat.ParseKeyEdit(nil, nil, &networks)
	wantCode(t, err, "")
	got, err := moved.Apply(petcat.Key{
		Label:    "ci",
		Networks: "10.0.0.0/8",
	}, "customer acct_7", noon)
	if want := (petcat.Key{Label: "ci", Networks: networks}); err != nil || got != want {
		t.Errorf("got %+v, want %+v; %v", got, want, err)
	}
	_, err = edit.Apply(petcat.Key{RevokedAt: past}, "operator ada", noon)
	wantCode(t, err, petcat.CodeConflict)
	long := strings.Repeat("é", 201)
	_, err = petcat.ParseKeyEdit(&long, nil, nil)
	wantCode(t, err, petcat.CodeInvalidField)
	_, err = keyEdit(t, nil, &noon).Apply(petcat.Key{ID: 1}, "operator ada", noon)
	wantCode(t, err, petcat.CodeInvalidField)
}
