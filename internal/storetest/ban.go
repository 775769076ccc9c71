package storetest

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func (f *fixture) bans(t *testing.T) []petcat.Ban {
	t.Helper()
	return must(f.BanPage(t.Context(), petcat.BanQuery{}))
}

func testBans(t *testing.T, open Open) {
	f := start(t, open)
	a := f.account(t, "zoo")
	first, _ := f.key(t, a.ID, 1)
	second, _ := f.key(t, a.ID, 2)
	ban := func(k petcat.KeyID, level int, shadow bool) petcat.Ban {
		t.Helper()
		b := petcat.Ban{
			Key:          k,
			Account:      a.ID,
			Level:        level,
			StartedAt:    f.now(),
			EndsAt:       f.now().Add(petcat.BanDuration(level)),
			EarlyRetries: 31,
			Shadow:       shadow,
		}
		if err := f.SaveBan(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	wantEqual(t, "bans of an empty store", 0, len(f.bans(t)))
	_, err := f.LiftBan(t.Context(), petcat.By(operator), first.ID)
	wantCode(t, err, petcat.CodeNotFound)
	wantCode(t, f.SaveBan(t.Context(), petcat.Ban{
		Key:     99,
		Account: a.ID,
		Level:   1,
	}), petcat.CodeNotFound)

	shadow := ban(second.ID, 1, true)
	_, err = f.FindBan(t.Context(), first.ID) // the key before has none
	wantCode(t, err, petcat.CodeNotFound)
	ban(first.ID, 1, false)
	f.clock.Advance(time.Hour)
	_, err = f.LiftBan(t.Context(), petcat.By(operator), first.ID)
	wantCode(t, err, petcat.CodeNotFound) // the ban has ended

	last := ban(first.ID, 2, false)
	wantEqual(t, "the last ban of each key", []petcat.Ban{last, shadow}, f.bans(t))
	f.clock.Advance(time.Minute)
	lifted := must(f.LiftBan(t.Context(), petcat.By(operator), first.ID)).Value
	last.LiftedAt, last.LiftedBy = f.now(), operator
	wantEqual(t, "the lifted ban", last, lifted)
	wantEqual(t, "the stored bans", []petcat.Ban{last, shadow}, f.bans(t))
	found := must(f.FindBan(t.Context(), first.ID))
	wantEqual(t, "the ban of a key", last, found)
	_, err = f.LiftBan(t.Context(), petcat.By(operator), first.ID)
	wantCode(t, err, petcat.CodeNotFound)

	// Saving the ban again, as after a lost response, keeps it lifted and does not add an audit entry.
	entries := len(f.audit(t))
	again := last
	again.LiftedAt, again.LiftedBy = time.Time{}, ""
	for _, later := range []time.Duration{0, time.Microsecond, -time.Second} {
		again.StartedAt = last.StartedAt.Add(later)
		if err := f.SaveBan(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "a ban saved twice", []petcat.Ban{last, shadow}, f.bans(t))
	}
	wantEqual(t, "audit entries", entries, len(f.audit(t)))
	wantEqual(t, "the next ban", ban(first.ID, 3, false), f.bans(t)[0])
}

// testInheritedBan: a successor has the last ban of the key that it replaces, and the feed notifies the
// servers.
func testInheritedBan(t *testing.T, open Open) {
	f := start(t, open)
	a := f.account(t, "zoo")
	k, _ := f.key(t, a.ID, 1)
	clean, _ := f.key(t, a.ID, 2)
	ends := f.now().Add(petcat.BanDuration(3))
	b := petcat.Ban{
		Key:          k.ID,
		Account:      a.ID,
		Level:        3,
		StartedAt:    f.now(),
		EndsAt:       ends,
		EarlyRetries: 31,
	}
	if err := f.SaveBan(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	rotate := func(id petcat.KeyID) petcat.KeyID {
		keys := petcat.KeyGenerator{Environment: petcat.Production, Random: rand.Reader}
		rotation, _, err := keys.Rotation(id, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return must(f.RotateKey(t.Context(), petcat.By(operator), rotation)).Value.New.ID
	}
	inherited := b
	inherited.Key = rotate(k.ID)
	rotate(clean.ID)
	wantEqual(t, "bans", []petcat.Ban{b, inherited}, f.bans(t))

	lifted := must(f.LiftBan(t.Context(), petcat.By(operator), inherited.Key)).Value
	next := lifted
	next.Key = rotate(inherited.Key)
	wantEqual(t, "bans after the successor's was lifted", []petcat.Ban{b, lifted, next}, f.bans(t))
	f.clock.Advance(petcat.BanRetention)
	rotate(next.Key)
	wantEqual(t, "number of bans, without a forgotten one", 3, len(f.bans(t)))
}
