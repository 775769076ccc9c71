package storetest

import (
	"testing"
	"time"

	"petcat"
)

// everything is all that a store can tell.
type everything struct {
	Categories []petcat.RevisedCategory
	Pets       []petcat.Pet
	Orders     []petcat.Order
	Accounts   []petcat.Account
	Keys       []petcat.Key
	Bans       []petcat.Ban
	Access     petcat.AccessChange
	Audit      []petcat.AuditEntry
}

func (f *fixture) everything(t *testing.T) everything {
	t.Helper()
	return everything{
		Categories: categories(t, f),
		Pets:       f.pets(t, petcat.PetQuery{Limit: 10}),
		Orders:     f.orders(t, petcat.OrderQuery{Account: 1, Limit: 10}),
		Accounts:   collect(t, func(fn func(petcat.Account) error) error { return f.EachAccount(t.Context(), fn) }),
		Keys:       f.keys(t, 0),
		Bans:       f.bans(t),
		Access:     changes(t, f, 0),
		Audit:      f.audit(t),
	}
}

// testReopen checks that a store is what it was after its process ended, and that
// it goes on numbering where it had stopped.
func testReopen(t *testing.T, open Open) {
	f := start(t, open)
	a := f.account(t, "zoo")
	k, _ := f.keyOn(t, a.ID, 1, petcat.KeyTerms{ExpiresAt: noon.Add(time.Hour)})
	closed := f.account(t, "shop")
	must2(t)(f.CloseAccount(t.Context(), operator, closed.ID))
	if err := f.SaveBan(t.Context(), petcat.Ban{Key: k.ID, Account: a.ID, Level: 3, StartedAt: noon, EndsAt: noon.Add(time.Hour), EarlyRetries: 31}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Dogs", "Cats"} {
		must2(t)(f.CreateCategory(t.Context(), petcat.CreateCategory{Account: a.ID, New: category(t, name, nil)}))
	}
	f.pet(t, "Rex", 1)
	f.order(t, a.ID, newOrder(t, 1, 2))
	before := f.everything(t)
	closeStore(t, f.Store)
	f.Store = f.another(t)
	wantEqual(t, "what is there", before, f.everything(t))

	created, err := f.CreateCategory(t.Context(), petcat.CreateCategory{Account: a.ID, New: category(t, "Birds", nil)})
	wantEqual(t, "the next category", petcat.CategoryID(3), must(t, created, err).Category.ID)
	wantEqual(t, "the next account", petcat.AccountID(3), f.account(t, "farm").ID)
	next, _ := f.key(t, a.ID, 2)
	wantEqual(t, "the next key", petcat.KeyID(2), next.ID)
	wantEqual(t, "the next pet", petcat.PetID(2), f.pet(t, "Max", 1).ID)
	wantEqual(t, "the next order", petcat.OrderID(2), f.order(t, a.ID, newOrder(t, 2, 1)).ID)
	wantChain(t, f.audit(t))
}
