package storetest

import (
	"slices"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

func testOrders(t *testing.T, open Open) {
	t.Run("accounts see their own orders", func(t *testing.T) { testOwnOrders(t, open) })
	t.Run("pages", func(t *testing.T) { testOrderPages(t, open) })
}

func newOrder(t *testing.T, pet petcat.PetID, quantity int64) petcat.NewOrder {
	t.Helper()
	return must(petcat.ParseNewOrder(&pet, &quantity))
}

func (f *fixture) order(t *testing.T, account petcat.AccountID, n petcat.NewOrder) petcat.Order {
	t.Helper()
	created := must(f.CreateOrder(t.Context(), petcat.CreateOrder{Account: account, New: n}))
	wantEqual(t, "replayed", false, created.Replayed)
	return created.Order
}

func (f *fixture) orders(t *testing.T, q petcat.OrderQuery) []petcat.Order {
	t.Helper()
	return must(f.ListOrders(t.Context(), q))
}

// stock creates a category with pets.
func (f *fixture) stock(t *testing.T, pets int) {
	t.Helper()
	category := f.create(t, "Dogs", nil).ID
	for range pets {
		f.pet(t, "Rex", category)
	}
}

func testOwnOrders(t *testing.T, open Open) {
	f := start(t, open)
	f.stock(t, 2)
	want := make(map[petcat.AccountID][]petcat.Order)
	for i, o := range []struct {
		account  petcat.AccountID
		pet      petcat.PetID
		quantity int64
	}{{1, 1, 1}, {2, 1, petcat.MaxQuantity}, {1, 2, 7}, {1, 1, 1}, {2, 2, 2}} { // orders need not differ
		placed := petcat.Order{ID: petcat.OrderID(i + 1), Pet: o.pet, Quantity: o.quantity}
		wantEqual(t, "the result", placed, f.order(t, o.account, newOrder(t, o.pet, o.quantity)))
		want[o.account] = append(want[o.account], placed)
	}
	for _, s := range []*store.Store{f.Store, f.another(t)} {
		for account := range petcat.AccountID(4) {
			orders := must(s.ListOrders(t.Context(), petcat.OrderQuery{Account: account, Limit: 10}))
			wantEqual(t, account.String()+"'s orders", want[account], orders)
		}
	}
}

func testOrderPages(t *testing.T, open Open) {
	f := start(t, open)
	f.stock(t, 1)
	var want []petcat.Order
	for i := range 12 {
		account := petcat.AccountID(1 + i%2)
		if o := f.order(t, account, newOrder(t, 1, int64(i+1))); account == 1 {
			want = append(want, o)
		}
	}
	for _, limit := range []int{1, 4, 6, 7} {
		var walked []petcat.Order
		for after := petcat.OrderID(0); ; {
			page := f.orders(t, petcat.OrderQuery{Account: 1, After: after, Limit: limit})
			walked = slices.Concat(walked, page)
			if len(page) < limit {
				break
			}
			after = page[limit-1].ID
		}
		wantEqual(t, "all pages", want, walked)
	}
}
