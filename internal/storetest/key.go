package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func testKeys(t *testing.T, open Open) {
	t.Run("created and listed", func(t *testing.T) {
		f := start(t, open)
		a, b := f.account(t, "zoo"), f.account(t, "shop")
		first, g := f.key(t, a.ID, 1)
		wantEqual(t, "the key", petcat.Key{
			ID:        1,
			Account:   a.ID,
			Label:     "key 1",
			Hint:      g.Hint,
			CreatedAt: noon,
		}, first)
		second, _ := f.keyOn(t, b.ID, 2, petcat.KeyTerms{ExpiresAt: noon.Add(90 * 24 * time.Hour), ReadOnly: true})
		wantEqual(t, "its expiry", noon.Add(90*24*time.Hour), second.ExpiresAt)
		wantEqual(t, "read-only", true, second.ReadOnly)
		third, _ := f.key(t, a.ID, 3)
		wantEqual(t, "all keys", []petcat.Key{first, second, third}, f.keys(t, 0))
		wantEqual(t, "the keys of one account", []petcat.Key{first, third}, f.keys(t, a.ID))
		found := must(f.FindKey(t.Context(), second.ID))
		wantEqual(t, "found by its id", second, found)
	})
	t.Run("unknown keys are not found", func(t *testing.T) {
		f := start(t, open)
		n, _, err := generator(1).NewKey(9, petcat.KeyTerms{})
		must(n, err)
		_, err = f.CreateKey(t.Context(), petcat.By(operator), n)
		wantCode(t, err, petcat.CodeNotFound)
		_, err = f.FindKey(t.Context(), 9)
		wantCode(t, err, petcat.CodeNotFound)
		_, err = f.ChangeKey(t.Context(), petcat.By(operator), 9, petcat.RevokeKey)
		wantCode(t, err, petcat.CodeNotFound)
		r, _, err := generator(1).Rotation(9, 0)
		must(r, err)
		_, err = f.RotateKey(t.Context(), petcat.By(operator), r)
		wantCode(t, err, petcat.CodeNotFound)
	})
	t.Run("found by the hash of its secret", func(t *testing.T) {
		f := start(t, open)
		a := f.account(t, "zoo")
		f.key(t, a.ID, 1)
		k, g := f.keyOn(t, a.ID, 2, petcat.KeyTerms{ReadOnly: true})
		hashes, want := []petcat.KeyHash{{3}, g.Hash}, []petcat.Key{k}
		for i := uint64(4); i < 300; i++ {
			b := f.account(t, fmt.Sprintf("zoo %d", i))
			k, g := f.key(t, b.ID, i)
			hashes, want = append(hashes, g.Hash), append(want, k)
		}
		found := must(f.FindKeys(t.Context(), hashes))
		wantEqual(t, "the keys of all hashes but the first", want, found)
	})
	t.Run("disabled and enabled", func(t *testing.T) {
		f := start(t, open)
		k, _ := f.key(t, f.account(t, "zoo").ID, 1)
		f.clock.Advance(time.Minute)
		disabled := f.change(t, k.ID, petcat.DisableKey)
		wantEqual(t, "the time", noon.Add(time.Minute), disabled.DisabledAt)
		wantEqual(t, "disabled twice", disabled, f.change(t, k.ID, petcat.DisableKey))
		wantEqual(t, "stored", disabled, f.keys(t, 0)[0])
		wantEqual(t, "enabled", k, f.change(t, k.ID, petcat.EnableKey))
		wantEqual(t, "stored", k, f.keys(t, 0)[0])
	})
	t.Run("revocation is permanent", func(t *testing.T) {
		f := start(t, open)
		k, _ := f.key(t, f.account(t, "zoo").ID, 1)
		revoked := f.change(t, k.ID, petcat.RevokeKey)
		f.clock.Advance(time.Minute)
		wantEqual(t, "revoked twice", revoked, f.change(t, k.ID, petcat.RevokeKey))
		for _, action := range []petcat.KeyAction{petcat.EnableKey, petcat.DisableKey} {
			_, err := f.ChangeKey(t.Context(), petcat.By(operator), k.ID, action)
			wantCode(t, err, petcat.CodeConflict)
		}
		r, _, err := generator(2).Rotation(k.ID, 0)
		must(r, err)
		_, err = f.RotateKey(t.Context(), petcat.By(operator), r)
		wantCode(t, err, petcat.CodeConflict)
		wantEqual(t, "stored", []petcat.Key{revoked}, f.keys(t, 0))
	})
	t.Run("label and expiry change", func(t *testing.T) {
		f := start(t, open)
		k, _ := f.key(t, f.account(t, "zoo").ID, 1)
		edit := func(label *string, expiresAt *time.Time) (petcat.Key, error) {
			e := must(petcat.ParseKeyEdit(label, expiresAt, nil))
			return value(f.EditKey(t.Context(), petcat.By(operator), k.ID, e))
		}
		name, end := "shop", noon.Add(time.Hour)
		k.Label = name
		edited := must(edit(&name, nil))
		wantEqual(t, "another label", k, edited)
		k.ExpiresAt = end
		edited = must(edit(nil, &end))
		wantEqual(t, "another expiry", k, edited)
		entries := len(f.audit(t))
		edited = must(edit(&name, &end))
		wantEqual(t, "no change", k, edited)
		wantEqual(t, "audit entries", entries, len(f.audit(t)))
		wantEqual(t, "stored", []petcat.Key{k}, f.keys(t, 0))
		f.change(t, k.ID, petcat.RevokeKey)
		_, err := edit(nil, &end)
		wantCode(t, err, petcat.CodeConflict)
	})
	t.Run("only operators extend an expired key", func(t *testing.T) {
		f := start(t, open)
		k, _ := f.keyOn(t, f.account(t, "zoo").ID, 1, petcat.KeyTerms{ExpiresAt: noon.Add(time.Hour)})
		f.clock.Advance(time.Hour)
		end := noon.Add(2 * time.Hour)
		extend := must(petcat.ParseKeyEdit(nil, &end, nil))
		_, err := f.EditKey(t.Context(), petcat.By(k.Account.Actor()), k.ID, extend)
		wantCode(t, err, petcat.CodeConflict)
		wantEqual(t, "stored", []petcat.Key{k}, f.keys(t, 0))
		k.ExpiresAt = end
		extended := must(f.EditKey(t.Context(), petcat.By(operator), k.ID, extend))
		wantEqual(t, "the extended key", k, extended.Value)
	})
	t.Run("limit for customers", func(t *testing.T) {
		f := start(t, open)
		a := f.account(t, "zoo")
		create := func(seed uint64) (petcat.Key, error) {
			n, _, err := generator(seed).NewKey(a.ID, petcat.KeyTerms{})
			must(n, err)
			return value(f.CreateKey(t.Context(), petcat.By(a.ID.Actor()), n))
		}
		for seed := range uint64(petcat.MaxCustomerKeys) {
			must(create(seed))
		}
		f.change(t, 1, petcat.RevokeKey) // counts because it is from today
		_, err := create(200)
		wantCode(t, err, petcat.CodeInvalidField)
		f.key(t, a.ID, 201) // operators are not limited
		f.clock.Advance(24 * time.Hour)
		f.change(t, 2, petcat.RevokeKey)
		must(create(202))
	})
	t.Run("expired keys count for a day", func(t *testing.T) {
		f := start(t, open)
		a := f.account(t, "zoo")
		for seed := range uint64(petcat.MaxCustomerKeys) {
			f.keyOn(t, a.ID, seed, petcat.KeyTerms{ExpiresAt: noon.Add(48 * time.Hour)})
		}
		create := func() error {
			n, _, err := generator(200).NewKey(a.ID, petcat.KeyTerms{})
			must(n, err)
			_, err = f.CreateKey(t.Context(), petcat.By(a.ID.Actor()), n)
			return err
		}
		f.clock.Advance(72*time.Hour - time.Second)
		wantCode(t, create(), petcat.CodeInvalidField)
		f.clock.Advance(time.Second)
		wantCode(t, create(), "")
	})
	t.Run("networks change", func(t *testing.T) {
		f := start(t, open)
		k, _ := f.keyOn(t, f.account(t, "zoo").ID, 1, petcat.KeyTerms{Networks: "192.0.2.0/24"})
		wantEqual(t, "the networks", "192.0.2.0/24", k.Networks)
		for _, networks := range []petcat.Networks{"10.0.0.0/8 ::1/128", ""} {
			e := must(petcat.ParseKeyEdit(nil, nil, &networks))
			k.Networks = networks
			edited := must(f.EditKey(t.Context(), petcat.By(operator), k.ID, e)).Value
			wantEqual(t, "the result", k, edited)
			wantEqual(t, "stored", []petcat.Key{k}, f.keys(t, 0))
		}
		lines := f.auditLines(t)
		wantEqual(t, "the audit entry",
			`cli:ada key.edit key_1 {"account":"acct_1","hint":"`+k.Hint+`","label":"key 1","networks":"",`+
				`"networks_before":"10.0.0.0/8 ::1/128"}`,
			lines[len(lines)-1])
	})
	t.Run("reported as leaked", func(t *testing.T) {
		f := start(t, open)
		k, _ := f.key(t, f.account(t, "zoo").ID, 1)
		k.DisabledAt, k.LeakedAt = noon, noon
		wantEqual(t, "the result", k, f.change(t, k.ID, petcat.ReportLeakedKey))
		events := f.eventLines(t)
		entries := len(f.audit(t))
		f.clock.Advance(time.Minute)
		wantEqual(t, "reported again", k, f.change(t, k.ID, petcat.ReportLeakedKey))
		wantEqual(t, "audit entries of a repeated report", entries, len(f.audit(t)))
		wantEqual(t, "the event",
			`key.leaked {"account":"acct_1","hint":"`+k.Hint+`","key":"key_1","label":"key 1"}`,
			events[len(events)-1])
		wantEqual(t, "events of a repeated report", events, f.eventLines(t))
		wantEqual(t, "stored", []petcat.Key{k}, f.keys(t, 0))
		enabled := f.change(t, k.ID, petcat.EnableKey)
		wantEqual(t, "the report of an enabled key", noon, enabled.LeakedAt)
	})
	t.Run("rotated", func(t *testing.T) { testRotation(t, open) })
	t.Run("rotated again after a lost response", func(t *testing.T) { testLostRotation(t, open) })
}

func (f *fixture) change(t *testing.T, id petcat.KeyID, action petcat.KeyAction) petcat.Key {
	t.Helper()
	return must(f.ChangeKey(t.Context(), petcat.By(operator), id, action)).Value
}

func testRotation(t *testing.T, open Open) {
	f := start(t, open)
	const month = 30 * 24 * time.Hour
	terms := petcat.KeyTerms{ExpiresAt: noon.Add(month), ReadOnly: true}
	old, oldSecret := f.keyOn(t, f.account(t, "zoo").ID, 1, terms)
	f.clock.Advance(24 * time.Hour)
	r, _, err := generator(2).Rotation(old.ID, time.Hour)
	must(r, err)
	secret := r.Generated()
	rotated := must(f.RotateKey(t.Context(), petcat.By(operator), r))
	successor := rotated.Value.New
	now := noon.Add(24 * time.Hour)
	wantEqual(t, "the new key", petcat.Key{
		ID:        2,
		Account:   old.Account,
		Label:     old.Label,
		Hint:      secret.Hint,
		ReadOnly:  true,
		CreatedAt: now,
		ExpiresAt: now.Add(month),
	}, successor)
	old.ExpiresAt, old.Successor = now.Add(time.Hour), successor.ID
	wantEqual(t, "the old key", old, rotated.Value.Old)
	wantEqual(t, "stored", []petcat.Key{old, successor}, f.keys(t, 0))
	for _, g := range []petcat.GeneratedKey{oldSecret, secret} {
		found := must(f.FindKeys(t.Context(), []petcat.KeyHash{g.Hash}))
		wantEqual(t, "both work during the overlap", petcat.KeyActive, found[0].State(now))
	}
	r, _, err = generator(3).Rotation(old.ID, time.Hour)
	must(r, err)
	_, err = f.RotateKey(t.Context(), petcat.By(operator), r)
	wantCode(t, err, petcat.CodeConflict)
}

// testLostRotation: with the key itself, a program rotates again if it lost the successor, which was never used
// and is revoked.
func testLostRotation(t *testing.T, open Open) {
	f := start(t, open)
	terms := petcat.KeyTerms{ExpiresAt: noon.Add(90 * 24 * time.Hour), Networks: "192.0.2.0/24"}
	old, _ := f.keyOn(t, f.account(t, "zoo").ID, 1, terms)
	rotate := func(seed uint64, key petcat.IdempotencyKey) (petcat.Result[petcat.RotatedKey], error) {
		r, _, err := generator(seed).OwnRotation(old.ID, time.Hour)
		must(r, err)
		by := petcat.Author{Actor: old.Account.Actor(), Key: key, Request: "rotate"}
		return f.RotateKey(t.Context(), by, r)
	}
	lost := must(rotate(2, "a")).Value.New
	f.clock.Advance(petcat.RotationPause - time.Second)
	_, err := rotate(3, "b")
	wantCode(t, err, petcat.CodeConflict)
	wantEqual(t, "the time until the next rotation", time.Second, petcat.Public(err).RetryAfter)
	f.clock.Advance(time.Second)
	found := must(rotate(3, "b")).Value.New
	wantEqual(t, "the lifetime", f.now().Add(90*24*time.Hour), found.ExpiresAt)
	wantEqual(t, "the networks", terms.Networks, found.Networks)
	lost.RevokedAt = f.now()
	old.ExpiresAt, old.Successor = noon.Add(time.Hour), found.ID
	wantEqual(t, "stored", []petcat.Key{old, lost, found}, f.keys(t, 0))
	replay := must(rotate(4, "a"))
	wantEqual(t, "the first rotation again", petcat.RotatedKey{Old: old, New: lost}, replay.Value)

	f.clock.Advance(petcat.RotationPause)
	use := petcat.KeyUse{Key: found.ID, At: f.now()}
	f.addUsage(t, petcat.UsageBatch{Node: "a", Number: 1, SeenAt: f.now(), Keys: []petcat.KeyUse{use}})
	entries := len(f.audit(t))
	_, err = rotate(5, "c")
	wantCode(t, err, petcat.CodeConflict)
	wantEqual(t, "audit entries of a rejected rotation", entries, len(f.audit(t)))
	r, _, err := generator(6).Rotation(old.ID, time.Hour)
	must(r, err)
	_, err = f.RotateKey(t.Context(), petcat.By(operator), r)
	wantCode(t, err, petcat.CodeConflict)
}
