package storetest

import (
	"testing"

	"petcat"
)

// furnishPets creates pets of the last category, and orders of two accounts. The pets'
// ids are higher than any category's: idempotency keys may name them all the same.
func (h *household) furnishPets(t *testing.T, shop petcat.Account) {
	t.Helper()
	for _, name := range naughty {
		h.pet(t, name, h.kept)
	}
	h.keepPet = petcat.CreatePet{Account: shop.ID, New: newPet(t, "Rex", h.kept), IdempotencyKey: "pet"}
	must2(t)(h.CreatePet(t.Context(), h.keepPet))
	h.order(t, h.free.ID, newOrder(t, 1, petcat.MaxQuantity))
	h.keepOrder = petcat.CreateOrder{Account: shop.ID, New: newOrder(t, 2, 1), IdempotencyKey: "order"}
	must2(t)(h.CreateOrder(t.Context(), h.keepOrder))
}

// wantPetsGoOn is wantLifeGoesOn for pets and orders.
func (h *household) wantPetsGoOn(t *testing.T, moved *fixture, before contents) {
	t.Helper()
	last := before.Pets[len(before.Pets)-1]
	pet, err := moved.CreatePet(t.Context(), h.keepPet)
	wantEqual(t, "the replayed pet", petcat.CreatedPet{Pet: last, Replayed: true}, must(t, pet, err))
	orders := before.Orders[h.keepOrder.Account]
	order, err := moved.CreateOrder(t.Context(), h.keepOrder)
	wantEqual(t, "the replayed order", petcat.CreatedOrder{Order: orders[len(orders)-1], Replayed: true}, must(t, order, err))
	wantEqual(t, "the next pet", last.ID+1, moved.pet(t, "next", h.kept).ID)
	wantEqual(t, "the next order", order.Order.ID+1, moved.order(t, h.free.ID, newOrder(t, last.ID+1, 1)).ID)
	wantCode(t, moved.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: h.kept}), petcat.CodeCategoryInUse)
}
