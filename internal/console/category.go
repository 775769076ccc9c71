package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/pages"
)

// categoryView is a category as the API shows it.
type categoryView struct {
	ID          petcat.CategoryID `json:"id"`
	Name        string            `json:"name"`
	Description *string           `json:"description"`

	Version string                `json:"-"` // changes with the texts; only on the category's page
	Origin  petcat.CategoryOrigin `json:"-"`
}

// categoriesView is a page of categories.
type categoriesView struct {
	Text       string // part of the names, "" for all
	Total      int64
	Categories []categoryView
	Paged      bool
	Next       petcat.CategoryID // last one of this page; 0 at the end of the list
	Partial    bool              // the search stopped before the end of the list
}

// A search stops after searchedAtOnce categories, which it reads in pieces, and offers to continue.
const (
	searchedAtOnce = 20_000
	searchPiece    = 1_000
)

func (c *Console) categories(x *pages.Exchange) error {
	list, _, err := c.List.Current(x.R.Context(), 0)
	if err != nil {
		return err
	}
	after := petcat.CategoryID(id(x.Value("after")))
	v, err := searchCategories(list, x.Value("q"), after)
	if err != nil {
		return err
	}
	v.Total = list.Count()
	v.Paged = after != 0
	if err := c.addOrigins(x, v.Categories); err != nil {
		return err
	}
	return x.Render("categories", pages.View{
		Title:   "Categories",
		Section: "categories",
		Data:    v,
	})
}

// searchCategories returns a page of the categories after an id whose names contain a text,
// ignoring case.
func searchCategories(list *catalog.Snapshot, text string, after petcat.CategoryID) (categoriesView, error) {
	v := categoriesView{Text: text, Next: after}
	wanted := strings.ToLower(text)
	for looked := 0; looked < searchedAtOnce; {
		page := list.Page(v.Next, searchPiece)
		var all []categoryView
		if err := json.Unmarshal(bytes.Join(page.Parts, nil), &all); err != nil {
			return v, fmt.Errorf("read a page of the catalog: %w", err)
		}
		looked += len(all)
		for _, c := range all {
			if !strings.Contains(strings.ToLower(c.Name), wanted) {
				continue
			}
			if len(v.Categories) == pages.Size {
				v.Next = v.Categories[pages.Size-1].ID
				return v, nil
			}
			v.Categories = append(v.Categories, c)
		}
		if v.Next = page.Next; v.Next == 0 {
			return v, nil
		}
	}
	v.Partial = true
	return v, nil
}

// findCategory returns the category in the path, without its origin.
func (c *Console) findCategory(x *pages.Exchange) (categoryView, error) {
	list, _, err := c.List.Current(x.R.Context(), 0)
	if err != nil {
		return categoryView{}, err
	}
	object, etag, found := list.Category(petcat.CategoryID(id(x.R.PathValue("category"))))
	if !found {
		return categoryView{}, petcat.NoSuchCategory()
	}
	var v categoryView
	if err := json.Unmarshal(object, &v); err != nil {
		return categoryView{}, fmt.Errorf("read a category of the catalog: %w", err)
	}
	v.Version = strings.Trim(etag, `"`)
	return v, nil
}

// addOrigins adds the origin of each category.
func (c *Console) addOrigins(x *pages.Exchange, all []categoryView) error {
	ids := make([]petcat.CategoryID, len(all))
	for i, v := range all {
		ids[i] = v.ID
	}
	origins, err := c.Store.CategoryOrigins(x.R.Context(), ids)
	if err != nil {
		return err
	}
	for _, o := range origins {
		all[slices.Index(ids, o.Category)].Origin = o
	}
	return nil
}

func (c *Console) category(x *pages.Exchange) error {
	v, err := c.findCategory(x)
	if err != nil {
		return err
	}
	one := []categoryView{v}
	if err := c.addOrigins(x, one); err != nil {
		return err
	}
	return x.Render("category", pages.View{
		Title:   v.Name,
		Section: "categories",
		Data:    one[0],
	})
}

// lineFeeds replaces line breaks by LF, as browsers do in a textarea. They send CR LF.
var lineFeeds = strings.NewReplacer("\r\n", "\n", "\r", "\n") //nolint:gochecknoglobals // a constant

// texts returns the name and the description of a form, nil for an empty description.
func texts(x *pages.Exchange) (name string, description *string) {
	name = x.Value("name")
	text := lineFeeds.Replace(x.R.Form.Get("description"))
	if text == "" {
		return name, nil
	}
	return name, &text
}

func (c *Console) createCategory(x *pages.Exchange) error {
	name, description := texts(x)
	asked, err := petcat.ParseNewCategory(&name, description)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	created, err := c.Store.CreateCategory(x.R.Context(), petcat.CreateCategory{
		By:             by.Actor,
		New:            asked,
		IdempotencyKey: by.Key,
	})
	if err != nil {
		return err
	}
	return x.Made(categoryPath(created.Category.ID), created.Replayed, "category")
}

func categoryPath(id petcat.CategoryID) string {
	return "categories/" + strconv.FormatInt(int64(id), 10)
}

func (c *Console) updateCategory(x *pages.Exchange) error {
	v, err := c.findCategory(x)
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	patch, changed, err := v.parsePatch(x)
	if err != nil {
		return err
	}
	if x.Value("version") != v.Version {
		if !changed {
			return x.GoTo(categoryPath(v.ID), "repeated") // the form was sent before
		}
		return petcat.Errorf(petcat.CodePreconditionFailed,
			"the category has changed since you opened this page, and its name is now %q; "+
				"to overwrite it with your text, save again", v.Name)
	}
	_, err = c.Store.UpdateCategory(x.R.Context(), petcat.UpdateCategory{
		ID:    v.ID,
		By:    by.Actor,
		Patch: patch,
		Expected: &petcat.Category{
			ID:          v.ID,
			Name:        v.Name,
			Description: v.Description,
		},
	})
	if err != nil {
		return err
	}
	return x.GoTo(categoryPath(v.ID), "updated")
}

// parsePatch returns the texts of a form that differ from the category, and reports whether any does.
// Others are not written: a form loses blanks around a name, and the kind of line breaks.
func (v categoryView) parsePatch(x *pages.Exchange) (patch petcat.CategoryPatch, changed bool, err error) {
	name, description := texts(x)
	newName, newDescription := &name, description
	if name == strings.TrimSpace(v.Name) {
		newName = nil
	}
	if sameDescription(description, v.Description) {
		newDescription = nil
	}
	remove := description == nil && v.Description != nil
	patch, err = petcat.ParseCategoryPatch(newName, newDescription, remove)
	return patch, newName != nil || newDescription != nil || remove, err
}

// sameDescription reports whether the description of a form is the one that is stored.
func sameDescription(sent, stored *string) bool {
	if sent == nil || stored == nil {
		return sent == stored
	}
	return *sent == lineFeeds.Replace(*stored)
}

func (c *Console) confirmDelete(x *pages.Exchange) error {
	v, err := c.findCategory(x)
	if err != nil {
		return err
	}
	return x.Confirm("categories", pages.Confirmation{
		Question: "Delete the category " + pages.Isolate(v.Name) + "?",
		Consequence: "It disappears from all lists. This cannot be undone, and its id is never reused. " +
			"Its pets stay, and keep its id.",
		Action: categoryPath(v.ID) + "/delete",
		Button: "Delete the category",
		Back:   categoryPath(v.ID),
	})
}

func (c *Console) deleteCategory(x *pages.Exchange) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	err = c.Store.DeleteCategory(x.R.Context(), petcat.DeleteCategory{
		ID: petcat.CategoryID(id(x.R.PathValue("category"))),
		By: by.Actor,
	})
	if petcat.CodeOf(err) == petcat.CodeNotFound && by.Key != "" {
		return x.GoTo("categories", "repeated") // the form was sent before
	}
	if err != nil {
		return err
	}
	return x.GoTo("categories", "deleted")
}
