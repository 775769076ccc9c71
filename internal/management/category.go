package management

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/petcat-api/petcat"
)

// CategoryStore is the part of [petcat.CategoryStore] and [petcat.PetStore] that the API calls.
type CategoryStore interface {
	FindCategory(ctx context.Context, id petcat.CategoryID) (petcat.ManagedCategory, error)
	UpdateCategory(ctx context.Context, u petcat.UpdateCategory) (petcat.Category, error)
	DeleteCategory(ctx context.Context, d petcat.DeleteCategory) error
	DeletePet(ctx context.Context, d petcat.DeletePet) error
}

// category finds the category in the path.
func (a *API) category(c *call) (petcat.ManagedCategory, error) {
	id, err := parseID(c.r.PathValue("category"))
	if err != nil {
		return petcat.ManagedCategory{}, err
	}
	return a.Store.FindCategory(c.ctx(), petcat.CategoryID(id))
}

// getCategory handles GET /categories/{category}.
func (a *API) getCategory(c *call) error {
	category, err := a.category(c)
	if err != nil {
		return err
	}
	return c.ok(category)
}

// categoryEditJSON is the body of a category change. Members that were not sent are nil. A
// description of null removes it.
type categoryEditJSON struct {
	Name        *string        `json:"name"`
	Description jsontext.Value `json:"description"`
}

func (b categoryEditJSON) parse() (petcat.CategoryPatch, error) {
	var description *string
	if b.Description != nil {
		if err := json.Unmarshal(b.Description, &description); err != nil {
			return petcat.CategoryPatch{}, petcat.Errorf(petcat.CodeInvalidField,
				"description must be a string, or null to remove it").In("description")
		}
	}
	remove := b.Description != nil && description == nil
	return petcat.ParseCategoryPatch(b.Name, description, remove)
}

// editCategory handles PATCH /categories/{category}.
func (a *API) editCategory(c *call) error {
	category, err := a.category(c)
	if err != nil {
		return err
	}
	var body categoryEditJSON
	if err := c.readEdit(&body, "description"); err != nil {
		return err
	}
	patch, err := body.parse()
	if err != nil {
		return err
	}
	category.Category, err = a.Store.UpdateCategory(c.ctx(), petcat.UpdateCategory{
		ID:    category.ID,
		By:    c.token.Actor(),
		Patch: patch,
	})
	if err != nil {
		return err
	}
	return c.ok(category)
}

// deleteCategory handles DELETE /categories/{category}.
func (a *API) deleteCategory(c *call) error {
	id, err := parseID(c.r.PathValue("category"))
	if err != nil {
		return err
	}
	err = a.Store.DeleteCategory(c.ctx(), petcat.DeleteCategory{
		ID: petcat.CategoryID(id),
		By: c.token.Actor(),
	})
	if err != nil {
		return err
	}
	c.noContent()
	return nil
}

// deletePet handles DELETE /pets/{pet}.
func (a *API) deletePet(c *call) error {
	id, err := parseID(c.r.PathValue("pet"))
	if err != nil {
		return err
	}
	err = a.Store.DeletePet(c.ctx(), petcat.DeletePet{
		ID: petcat.PetID(id),
		By: c.token.Actor(),
	})
	if err != nil {
		return err
	}
	c.noContent()
	return nil
}

// noContent sends 204.
func (c *call) noContent() {
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.WriteHeader(http.StatusNoContent)
}
