package httpapi

import (
	"net/http"
	"strconv"

	"github.com/petcat-api/petcat"
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

// listPets handles GET /pets.
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
	pets, err := s.options.Store.ListPets(e.r.Context(), petcat.PetQuery{
		Category: petcat.CategoryID(category), After: petcat.PetID(page.after), Limit: page.limit + 1,
	})
	if err != nil {
		return err
	}
	sendItems(e, page, pets, func(p petcat.Pet) (int64, any) { return int64(p.ID), pet(p) })
	return nil
}

// createPet handles POST /pets.
func (s *Server) createPet(e *exchange, body []byte) error {
	return create(e, body, decodeNewPet, func(n petcat.NewPet, key petcat.IdempotencyKey) ([]byte, bool, error) {
		created, err := s.options.Store.CreatePet(e.r.Context(), petcat.CreatePet{
			Account:        e.caller.Account,
			New:            n,
			IdempotencyKey: key,
			Limit:          e.caller.Storage,
		})
		return marshal(pet(created.Pet)), created.Replayed, err
	})
}

// getPetByID handles GET /pets/{petId}.
func (s *Server) getPetByID(e *exchange) error {
	found, err := s.options.Store.FindPet(e.r.Context(), petcat.PetID(e.itemID()))
	if err != nil {
		return err
	}
	e.sendJSON(http.StatusOK, marshal(pet(found)))
	return nil
}

// deletePet handles DELETE /pets/{petId}.
func (s *Server) deletePet(e *exchange) error {
	err := s.options.Store.DeletePet(e.r.Context(), petcat.DeletePet{
		ID:      petcat.PetID(e.itemID()),
		Account: e.caller.Account,
	})
	if err != nil {
		return err
	}
	e.sendNoContent()
	return nil
}

// listOrders handles GET /store/orders.
func (s *Server) listOrders(e *exchange) error {
	page, err := e.page()
	if err != nil {
		return err
	}
	orders, err := s.options.Store.ListOrders(e.r.Context(), petcat.OrderQuery{
		Account: e.caller.Account, After: petcat.OrderID(page.after), Limit: page.limit + 1,
	})
	if err != nil {
		return err
	}
	sendItems(e, page, orders, func(o petcat.Order) (int64, any) { return int64(o.ID), order(o) })
	return nil
}

// createOrder handles POST /store/orders.
func (s *Server) createOrder(e *exchange, body []byte) error {
	return create(e, body, decodeNewOrder, func(n petcat.NewOrder, key petcat.IdempotencyKey) ([]byte, bool, error) {
		created, err := s.options.Store.CreateOrder(e.r.Context(), petcat.CreateOrder{
			Account:        e.caller.Account,
			New:            n,
			IdempotencyKey: key,
			Limit:          e.caller.Storage,
		})
		return marshal(order(created.Order)), created.Replayed, err
	})
}
