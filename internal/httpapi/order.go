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
	orders, err := s.orders.ListOrders(e.r.Context(), petcat.OrderQuery{
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
		created, err := s.orders.CreateOrder(e.r.Context(), petcat.CreateOrder{Account: e.caller.Account, New: n, IdempotencyKey: key})
		return created.Order, created.Replayed, err
	})
}

// decodeNewOrder reads a NewOrder.
func (b *bodyBuffer) decodeNewOrder() (petcat.NewOrder, error) {
	var pet whole[petcat.PetID]
	var quantity whole[int64]
	d := b.decoder()
	err := readObject(d, b.data, func(member []byte) (wrong, err error) {
		switch string(member) {
		case "pet_id":
			return pet.read(d, "pet_id")
		case "quantity":
			return quantity.read(d, "quantity")
		default:
			return nil, d.SkipValue()
		}
	})
	if err != nil {
		return petcat.NewOrder{}, err
	}
	return petcat.ParseNewOrder(pet.pointer(), quantity.pointer())
}

// appendOrder appends the JSON object of an order. It never fails.
func appendOrder(dst []byte, o petcat.Order) ([]byte, error) {
	return fmt.Appendf(dst, `{"id":%d,"pet_id":%d,"quantity":%d}`, o.ID, o.Pet, o.Quantity), nil
}
