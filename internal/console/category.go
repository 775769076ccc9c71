package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"petcat"
	"petcat/internal/catalog"
	"petcat/internal/pages"
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

func categories(x *exchange) error {
	list, _, err := x.List.Current(x.R.Context(), 0)
	if err != nil {
		return err
	}
	after := petcat.CategoryID(id(x.Value("after")))
	v, err := searchCategories(list, x.Value("q"), after)
	if err != nil {
		return err
	}
	v.Total, v.Paged = list.Count(), after != 0
	if err := x.originate(v.Categories); err != nil {
		return err
	}
	return x.Render("categories", pages.View{Title: "Categories", Section: "categories", Data: v})
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

// findCategory returns the category in the path.
func findCategory(x *exchange) (categoryView, error) {
	var c categoryView
	list, _, err := x.List.Current(x.R.Context(), 0)
	if err != nil {
		return c, err
	}
	object, version, found := list.Category(petcat.CategoryID(id(x.R.PathValue("category"))))
	if !found {
		return c, petcat.NoSuchCategory()
	}
	if err := json.Unmarshal(object, &c); err != nil {
		return c, fmt.Errorf("read a category of the catalog: %w", err)
	}
	c.Version = strings.Trim(version, `"`)
	one := []categoryView{c}
	err = x.originate(one)
	return one[0], err
}

// originate adds the origin of each category.
func (x *exchange) originate(all []categoryView) error {
	ids := make([]petcat.CategoryID, len(all))
	for i, c := range all {
		ids[i] = c.ID
	}
	origins, err := x.Store.CategoryOrigins(x.R.Context(), ids)
	for _, o := range origins {
		all[slices.Index(ids, o.Category)].Origin = o
	}
	return err
}

func category(x *exchange, c categoryView) error {
	return x.Render("category", pages.View{Title: c.Name, Section: "categories", Data: c})
}

// lineFeeds replaces line breaks by LF, as browsers do in a textarea. They send CR LF.
var lineFeeds = strings.NewReplacer("\r\n", "\n", "\r", "\n") //nolint:gochecknoglobals // a constant

// texts returns the name and the description of a form, nil for an empty description.
func (x *exchange) texts() (name, description *string) {
	n, d := x.Value("name"), lineFeeds.Replace(x.R.Form.Get("description"))
	if d == "" {
		return &n, nil
	}
	return &n, &d
}

func createCategory(x *exchange) error {
	asked, err := petcat.ParseNewCategory(x.texts())
	if err != nil {
		return err
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	created, err := x.Store.CreateCategory(x.R.Context(), petcat.CreateCategory{
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

func updateCategory(x *exchange, c categoryView) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	name, description := x.texts()
	remove := description == nil
	// Only changed fields are written: a form loses blanks around a name, and the kind of line breaks.
	sameName := *name == strings.TrimSpace(c.Name)
	sameDescription := description == nil && c.Description == nil ||
		description != nil && c.Description != nil && *description == lineFeeds.Replace(*c.Description)
	if x.Value("version") != c.Version {
		if sameName && sameDescription {
			return x.GoTo(categoryPath(c.ID), "repeated") // the form was sent before
		}
		return petcat.Errorf(petcat.CodePreconditionFailed,
			"the category has changed since you opened this page, and its name is now %q; "+
				"to overwrite it with your text, save again", c.Name)
	}
	if sameName {
		name = nil
	}
	if sameDescription {
		description = nil
	}
	patch, err := petcat.ParseCategoryPatch(name, description, remove)
	if err != nil {
		return err
	}
	shown := petcat.Category{ID: c.ID, Name: c.Name, Description: c.Description}
	_, err = x.Store.UpdateCategory(x.R.Context(), petcat.UpdateCategory{
		ID:       c.ID,
		By:       by.Actor,
		Patch:    patch,
		Expected: &shown,
	})
	return x.Done(err, categoryPath(c.ID), "updated")
}

func confirmDelete(x *exchange, c categoryView) error {
	return x.Confirm("categories", pages.Confirmation{
		Question:    "Delete the category " + pages.Isolate(c.Name) + "?",
		Consequence: "It disappears from all lists. This cannot be undone, and its id is never reused. A category with pets cannot be deleted.",
		Action:      categoryPath(c.ID) + "/delete", Button: "Delete the category", Back: categoryPath(c.ID),
	})
}

func deleteCategory(x *exchange) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	c, err := findCategory(x)
	if err == nil {
		err = x.Store.DeleteCategory(x.R.Context(), petcat.DeleteCategory{ID: c.ID, By: by.Actor})
	}
	if petcat.CodeOf(err) == petcat.CodeNotFound && by.Key != "" {
		return x.GoTo("categories", "repeated") // the form was sent before
	}
	return x.Done(err, "categories", "deleted")
}
