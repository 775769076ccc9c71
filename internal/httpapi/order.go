package httpapi

import (
	"fmt"

	"petcat"
)

// listOrders answers GET /store/orders.
func (s *Server) listOrders(e *exchange) error {
	page, err := e.page()
	if err != nil {
		return err
	}
	orders, err := s.Orders.ListOrders(e.r.Context(), petcat.OrderQuery{
		Account: e.caller.Account, After: petcat.OrderID(page.after), Limit: page.limit + 1,
	})
	if err != nil {
		return err
	}
	return sendItems(e, page, orders, func(o petcat.Order) int64 { return int64(o.ID) }, appendOrder)
}

// createOrder answers POST /store/orders.
func (s *Server) createOrder(e *exchange, body *bodyBuffer) error {
	return createItem(e, body, body.decodeNewOrder, appendOrder, func(n petcat.NewOrder, key petcat.IdempotencyKey) (petcat.Order, bool, error) {
		created, err := s.Orders.CreateOrder(e.r.Context(), petcat.CreateOrder{Account: e.caller.Account, New: n, IdempotencyKey: key})
		return created.Order, created.Replayed, err
	})
}

// decodeNewOrder reads a NewOrder.
func (b *bodyBuffer) decodeNewOrder() (petcat.NewOrder, error) {
	o := readObject(b.decoder(), b.data, "pet_id", "quantity")
	pet, quantity := whole[petcat.PetID](&o, "pet_id"), whole[int64](&o, "quantity")
	if o.err != nil {
		return petcat.NewOrder{}, o.err
	}
	return petcat.ParseNewOrder(pet, quantity)
}

// appendOrder appends the JSON object of an order. It never fails.
func appendOrder(dst []byte, o petcat.Order) ([]byte, error) {
	return fmt.Appendf(dst, `{"id":%d,"pet_id":%d,"quantity":%d}`, o.ID, o.Pet, o.Quantity), nil
}
