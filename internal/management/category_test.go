package management_test

import (
	"testing"

	"github.com/petcat-api/petcat"
)

// category is a category as the API shows it.
type category struct {
	ID          int
	Name        string
	Description *string
	Account     *string
}

// stageCategory creates category 1 and pet 1 of the account acct_1.
func (s *service) stageCategory() {
	s.t.Helper()
	name, description, id := "Rubbish", "Buy now", petcat.CategoryID(1)
	c, err := petcat.ParseNewCategory(&name, &description)
	must(s.t, err)
	_, err = s.store.CreateCategory(s.t.Context(), petcat.CreateCategory{Account: 1, New: c})
	must(s.t, err)
	p, err := petcat.ParseNewPet(&name, &id)
	must(s.t, err)
	_, err = s.store.CreatePet(s.t.Context(), petcat.CreatePet{Account: 1, New: p})
	must(s.t, err)
	o, err := petcat.ParseNewOrder(new(petcat.PetID(1)), new(int64(1)))
	must(s.t, err)
	_, err = s.store.CreateOrder(s.t.Context(), petcat.CreateOrder{Account: 1, New: o})
	must(s.t, err)
}

// lastAudited returns the last audit entry, without its detail.
func (s *service) lastAudited() string {
	s.t.Helper()
	all, err := s.store.AuditPage(s.t.Context(), petcat.AuditQuery{Newest: 1})
	must(s.t, err)
	return string(all[0].Actor) + " " + all[0].Action + " " + all[0].Subject
}

// TestCategories: an operator changes and deletes the category of an account, also with a pet.
func TestCategories(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.stageCategory()
	want := category{ID: 1, Name: "Rubbish", Description: new("Buy now"), Account: new("acct_1")}
	wantEqual(t, "the category", want, decode[category](t, s.get("/categories/1")))

	want.Name = "Removed"
	wantEqual(t, "another name", want, decode[category](t, s.patch("/categories/1", `{"name":"Removed"}`)))
	wantEqual(t, "the audit entry", "token ci category.update category_1", s.lastAudited())
	want.Description = new("by the operator")
	wantEqual(t, "another description", want,
		decode[category](t, s.patch("/categories/1", `{"description":"by the operator"}`)))
	want.Description = nil
	wantEqual(t, "no description", want, decode[category](t, s.patch("/categories/1", `{"description":null}`)))
	wantEqual(t, "no change", want, decode[category](t, s.patch("/categories/1", `{}`)))
	s.rejected(400, "invalid_field", "PATCH", "/categories/1", `{"name":""}`)
	s.rejected(400, "invalid_field", "PATCH", "/categories/1", `{"description":1}`)

	a := s.want(204, "DELETE", "/categories/1", "")
	wantEqual(t, "the body", "", string(a.body))
	wantEqual(t, "the audit entry", "token ci category.delete category_1", s.lastAudited())
	for _, method := range []string{"GET", "PATCH", "DELETE"} {
		s.rejected(404, "not_found", method, "/categories/1", "")
		s.rejected(400, "invalid_field", method, "/categories/01", "")
	}
}

// TestDeletePet: an operator deletes the pet of an account.
func TestDeletePet(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.stageCategory()
	s.want(204, "DELETE", "/pets/1", "")
	wantEqual(t, "the audit entry", "token ci pet.delete pet_1", s.lastAudited())
	s.rejected(404, "not_found", "DELETE", "/pets/1", "")
	s.rejected(400, "invalid_field", "DELETE", "/pets/x", "")
}

// TestPurge: an operator deletes what an account created, before or after closing it.
func TestPurge(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acme(`{}`)
	s.stageCategory()
	s.remove("/accounts/acme")
	type purge struct {
		Account                  string
		Categories, Pets, Orders int
	}
	want := purge{Account: "acct_1", Categories: 1, Pets: 1, Orders: 1}
	wantEqual(t, "the purge", want, decode[purge](t, s.post("/accounts/acct_1/purge", "")))
	wantEqual(t, "the audit entry", "token ci account.purge acct_1", s.lastAudited())
	s.rejected(404, "not_found", "GET", "/categories/1", "")
	wantEqual(t, "another purge", purge{Account: "acct_1"}, decode[purge](t, s.post("/accounts/acct_1/purge", "")))
	s.rejected(404, "not_found", "POST", "/accounts/acct_2/purge", "")
}
