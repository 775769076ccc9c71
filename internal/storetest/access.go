package storetest

import (
	"testing"
	"time"

	"petcat"
)

func changes(t *testing.T, s petcat.AccessStore, after petcat.Revision) petcat.AccessChange {
	t.Helper()
	c, err := s.AccessChangesSince(t.Context(), after)
	return must(t, c, err)
}

// testAccess makes changes through one store and looks at them through another,
// as a server does with those of the command line.
func testAccess(t *testing.T, open Open) {
	f := start(t, open)
	server := f.another(t)
	var seen petcat.Revision
	step := func(what string, keys []petcat.KeyHash, accounts []petcat.AccountID, bans []petcat.Ban) {
		t.Helper()
		c := changes(t, server, seen)
		if c.Revision <= seen {
			t.Errorf("%s: revision %d after %d", what, c.Revision, seen)
		}
		seen = c.Revision
		wantEqual(t, what, petcat.AccessChange{Revision: seen, Keys: keys, Accounts: accounts, Bans: bans}, c)
		if again := changes(t, server, seen); !again.Empty() || again.Revision != seen {
			t.Errorf("%s: asked again: %+v, want nothing at revision %d", what, again, seen)
		}
	}
	if c := changes(t, server, 0); !c.Empty() {
		t.Errorf("a fresh store has changes: %+v", c)
	}
	a := f.account(t, "zoo")
	step("a new account", nil, []petcat.AccountID{a.ID}, nil)
	k, first := f.key(t, a.ID, 1)
	step("a new key", []petcat.KeyHash{first.Hash}, nil, nil)
	must2(t)(f.ChangeSubscription(t.Context(), operator, a.ID, subscription(t, "pro", 0, 0)))
	step("another plan", nil, []petcat.AccountID{a.ID}, nil)
	f.change(t, k.ID, petcat.DisableKey)
	step("a disabled key", []petcat.KeyHash{first.Hash}, nil, nil)
	f.change(t, k.ID, petcat.EnableKey)
	step("an enabled key", []petcat.KeyHash{first.Hash}, nil, nil)

	second := generate(t, 2)
	r, err := petcat.ParseRotation(k.ID, time.Hour, second)
	must(t, r, err)
	must2(t)(f.RotateKey(t.Context(), operator, r))
	step("a rotated key", []petcat.KeyHash{second.Hash, first.Hash}, nil, nil)

	ban := petcat.Ban{Key: k.ID, Account: a.ID, Level: 1, StartedAt: noon, EndsAt: noon.Add(time.Minute), EarlyRetries: 31}
	if err := f.SaveBan(t.Context(), ban); err != nil {
		t.Fatal(err)
	}
	step("a ban", nil, nil, []petcat.Ban{ban})
	lifted, err := f.LiftBan(t.Context(), operator, k.ID)
	step("a lifted ban", nil, nil, []petcat.Ban{must(t, lifted, err)})

	must2(t)(f.CreateCategory(t.Context(), petcat.CreateCategory{Account: a.ID, New: category(t, "Dogs", nil)}))
	if c := changes(t, server, seen); !c.Empty() {
		t.Errorf("a new category changed access: %+v", c)
	}
	must2(t)(f.CloseAccount(t.Context(), operator, a.ID))
	step("a closed account", []petcat.KeyHash{first.Hash, second.Hash}, []petcat.AccountID{a.ID}, nil)

	all := changes(t, server, 0)
	wantEqual(t, "everything at once", petcat.AccessChange{Revision: seen, Keys: []petcat.KeyHash{first.Hash, second.Hash}, Accounts: []petcat.AccountID{a.ID}, Bans: []petcat.Ban{lifted}}, all)
}
