package httpapi

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
)

// listPets answers GET /pets.
func (s *Server) listPets(e *exchange) error {
	page, err := e.page()
	if err != nil {
		return err
	}
	category, filtered, err := parameter(page.query, "category_id", 1, maxID)
	if err != nil {
		return err
	}
	if filtered {
		page.filter = "category_id=" + strconv.FormatInt(category, 10) + "&"
	}
	pets, err := s.Pets.ListPets(e.r.Context(), petcat.PetQuery{
		Category: petcat.CategoryID(category), After: petcat.PetID(page.after), Limit: page.limit + 1,
	})
	if err != nil {
		return err
	}
	return sendItems(e, page, pets, func(p petcat.Pet) int64 { return int64(p.ID) }, appendPet)
}

// createPet answers POST /pets.
func (s *Server) createPet(e *exchange, body *bodyBuffer) error {
	return createItem(e, body, body.decodeNewPet, appendPet, func(n petcat.NewPet, key petcat.IdempotencyKey) (petcat.Pet, bool, error) {
		created, err := s.Pets.CreatePet(e.r.Context(), petcat.CreatePet{Account: e.caller.Account, New: n, IdempotencyKey: key})
		return created.Pet, created.Replayed, err
	})
}

// getPetByID answers GET /pets/{petId}.
func (s *Server) getPetByID(e *exchange) error {
	pet, err := s.Pets.FindPet(e.r.Context(), petcat.PetID(e.itemID()))
	if err != nil {
		return err
	}
	body, err := appendPet(nil, pet)
	if err != nil {
		return err
	}
	e.sendUncached(http.StatusOK, body)
	return nil
}

// decodeNewPet reads a NewPet.
func (b *bodyBuffer) decodeNewPet() (petcat.NewPet, error) {
	o := readObject(b.decoder(), b.data, "name", "category_id")
	name, category := o.text("name"), whole[petcat.CategoryID](&o, "category_id")
	if o.err != nil {
		return petcat.NewPet{}, o.err
	}
	return petcat.ParseNewPet(name, category)
}

// appendPet appends the JSON object of a pet. It fails only on names that are not
// valid UTF-8.
func appendPet(dst []byte, p petcat.Pet) ([]byte, error) {
	dst = strconv.AppendInt(append(dst, `{"id":`...), int64(p.ID), 10)
	dst, err := jsontext.AppendQuote(append(dst, `,"name":`...), p.Name)
	dst = strconv.AppendInt(append(dst, `,"category_id":`...), int64(p.Category), 10)
	return append(dst, '}'), err
}
