package httpapi

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"petcat"
)

// pet is a pet in JSON.
type pet struct {
	ID       petcat.PetID      `json:"id"`
	Name     string            `json:"name"`
	Category petcat.CategoryID `json:"category_id"`
}

// order is an order in JSON.
type order struct {
	ID       petcat.OrderID `json:"id"`
	Pet      petcat.PetID   `json:"pet_id"`
	Quantity int64          `json:"quantity"`
}

// listPets answers GET /pets.
func (s *Server) listPets(e *exchange) error {
	page, err := e.page()
	if err != nil {
		return err
	}
	category, err := page.parameter("category_id", 1, maxID, 0)
	if err != nil {
		return err
	}
	if category != 0 {
		page.filter = "category_id=" + strconv.FormatInt(category, 10) + "&"
	}
	pets, err := s.Pets.ListPets(e.r.Context(), petcat.PetQuery{
		Category: petcat.CategoryID(category), After: petcat.PetID(page.after), Limit: page.limit + 1,
	})
	if err != nil {
		return err
	}
	return sendItems(e, page, pets, func(p petcat.Pet) (int64, any) { return int64(p.ID), pet(p) })
}

// createPet answers POST /pets.
func (s *Server) createPet(e *exchange, body []byte) error {
	return createItem(e, body, decodeNewPet, func(n petcat.NewPet, key petcat.IdempotencyKey) (any, bool, error) {
		created, err := s.Pets.CreatePet(e.r.Context(), petcat.CreatePet{Account: e.caller.Account, New: n, IdempotencyKey: key})
		return pet(created.Pet), created.Replayed, err
	})
}

// getPetByID answers GET /pets/{petId}.
func (s *Server) getPetByID(e *exchange) error {
	found, err := s.Pets.FindPet(e.r.Context(), petcat.PetID(e.itemID()))
	if err != nil {
		return err
	}
	body, err := json.Marshal(pet(found))
	if err != nil {
		return err
	}
	e.sendJSON(http.StatusOK, body)
	return nil
}

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
	return sendItems(e, page, orders, func(o petcat.Order) (int64, any) { return int64(o.ID), order(o) })
}

// createOrder answers POST /store/orders.
func (s *Server) createOrder(e *exchange, body []byte) error {
	return createItem(e, body, decodeNewOrder, func(n petcat.NewOrder, key petcat.IdempotencyKey) (any, bool, error) {
		created, err := s.Orders.CreateOrder(e.r.Context(), petcat.CreateOrder{Account: e.caller.Account, New: n, IdempotencyKey: key})
		return order(created.Order), created.Replayed, err
	})
}

// createItem answers a POST that creates a pet or an order. create returns what JSON shows of
// it, and whether an earlier request with the same idempotency key created it.
func createItem[N any](
	e *exchange, body []byte, decode func([]byte) (N, error), create func(N, petcat.IdempotencyKey) (item any, replayed bool, err error),
) error {
	key, err := idempotencyKey(e.r.Header)
	if err != nil {
		return err
	}
	asked, err := decode(body)
	if err != nil {
		return err
	}
	item, replayed, err := create(asked, key)
	if err != nil {
		return err
	}
	answer, err := json.Marshal(item)
	if err != nil {
		return err
	}
	e.sendCreated(replayed, answer)
	return nil
}
