package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func changes(t *testing.T, s petcat.AccessStore, after petcat.Revision) petcat.AccessChange {
	t.Helper()
	return must(s.AccessChangesSince(t.Context(), after))
}

// testAccess makes changes with one store and reads them with another, as a server does after
// commands.
func testAccess(t *testing.T, open Open) {
	f := start(t, open)
	server := f.another(t)
	var seen petcat.Revision
	step := func(what string, keys []petcat.KeyAccess, accounts []petcat.Account, bans []petcat.Ban) {
		t.Helper()
		c := changes(t, server, seen)
		if c.Revision <= seen {
			t.Errorf("%s: revision %d after %d", what, c.Revision, seen)
		}
		seen = c.Revision
		wantEqual(t, what, petcat.AccessChange{Revision: seen, Keys: keys, Accounts: accounts, Bans: bans}, c)
		if again := changes(t, server, seen); !empty(again) || again.Revision != seen {
			t.Errorf("%s: got %+v again, want no changes and revision %d", what, again, seen)
		}
	}
	if c := changes(t, server, 0); !empty(c) {
		t.Errorf("an empty store has changes: %+v", c)
	}
	a := f.account(t, "zoo")
	step("a new account", nil, []petcat.Account{a}, nil)
	k, secret := f.keyOn(t, a.ID, 1, petcat.KeyTerms{ReadOnly: true, Networks: "192.0.2.0/24"})
	first := petcat.KeyAccess{
		Hash:     secret.Hash,
		ID:       k.ID,
		Account:  a.ID,
		ReadOnly: true,
		Networks: "192.0.2.0/24",
	}
	step("a new key", []petcat.KeyAccess{first}, nil, nil)
	edit := petcat.EditPlan(subscription(t, "pro", 0, 0))
	pro := must(f.EditAccount(t.Context(), petcat.By(operator), a.ID, edit)).Value
	step("another plan", nil, []petcat.Account{pro}, nil)
	f.change(t, k.ID, petcat.DisableKey)
	disabled := first
	disabled.Disabled = true
	step("a disabled key", []petcat.KeyAccess{disabled}, nil, nil)
	f.change(t, k.ID, petcat.EnableKey)
	step("an enabled key", []petcat.KeyAccess{first}, nil, nil)

	r, _, err := generator(2).Rotation(k.ID, time.Hour)
	must(r, err)
	g := r.Generated()
	must(f.RotateKey(t.Context(), petcat.By(operator), r))
	second := petcat.KeyAccess{
		Hash:     g.Hash,
		ID:       2,
		Account:  a.ID,
		ReadOnly: true,
		Networks: "192.0.2.0/24",
	}
	first.ExpiresAt = noon.Add(time.Hour)
	step("a rotated key", []petcat.KeyAccess{second, first}, nil, nil)

	ban := petcat.Ban{
		Key:       k.ID,
		Account:   a.ID,
		Level:     1,
		StartedAt: noon,
		EndsAt:    noon.Add(time.Minute),
	}
	if err := f.SaveBan(t.Context(), ban); err != nil {
		t.Fatal(err)
	}
	step("a ban", nil, nil, []petcat.Ban{ban})
	lifted := must(f.LiftBan(t.Context(), petcat.By(operator), k.ID)).Value
	step("a lifted ban", nil, nil, []petcat.Ban{lifted})

	must(f.CreateCategory(t.Context(), petcat.CreateCategory{
		Account: a.ID,
		New:     category(t, "Dogs", nil),
	}))
	if c := changes(t, server, seen); !empty(c) {
		t.Errorf("a new category changed access: %+v", c)
	}
	closed := must(f.CloseAccount(t.Context(), petcat.By(operator), a.ID)).Value
	first.Revoked, second.Revoked = true, true
	step("a closed account", []petcat.KeyAccess{first, second}, []petcat.Account{closed}, nil)

	all := changes(t, server, 0)
	wantEqual(t, "all changes", petcat.AccessChange{
		Revision: seen,
		Keys:     []petcat.KeyAccess{first, second},
		Accounts: []petcat.Account{closed},
		Bans:     []petcat.Ban{lifted},
	}, all)
	keys := collect(t, func(fn func(petcat.KeyAccess) error) error { return server.EachKeyAccess(t.Context(), fn) })
	wantEqual(t, "all keys", 2, len(keys))
	for _, k := range keys {
		wantEqual(t, "one of all keys", map[petcat.KeyID]petcat.KeyAccess{1: first, 2: second}[k.ID], k)
	}
	bans := collect(t, func(fn func(petcat.Ban) error) error { return server.EachBan(t.Context(), fn) })
	wantEqual(t, "all bans", []petcat.Ban{lifted}, bans)
	enough := errors.New("enough")
	stop := func(petcat.KeyAccess) error { return enough }
	if err := server.EachKeyAccess(t.Context(), stop); !errors.Is(err, enough) {
		t.Errorf("got %v, want the error of the function", err)
	}
}

// testAccessChanged: OnAccessChange is called before a change to an account, key or ban returns.
func testAccessChanged(t *testing.T, open Open) {
	f := start(t, open)
	calls := 0
	f.OnAccessChange(func(context.Context) { calls++ })
	a := f.account(t, "zoo")
	k, _ := f.key(t, a.ID, 1)
	f.change(t, k.ID, petcat.RevokeKey)
	wantEqual(t, "changes of access", 3, calls)
	f.change(t, k.ID, petcat.RevokeKey) // already revoked
	must(f.CreateCategory(t.Context(), petcat.CreateCategory{
		Account: a.ID,
		New:     category(t, "Dogs", nil),
	}))
	wantEqual(t, "changes of access after other changes", 3, calls)
}

func empty(c petcat.AccessChange) bool {
	return len(c.Keys) == 0 && len(c.Accounts) == 0 && len(c.Bans) == 0
}
