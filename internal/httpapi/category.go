package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
	"github.com/petcat-api/petcat/internal/web"
)

// listCategories handles GET /categories.
func (s *Server) listCategories(e *exchange) error {
	page, err := e.page()
	if err != nil {
		return err
	}
	list, age, err := s.options.Catalog.Current(e.r.Context(), e.Decision.Newest)
	if err != nil {
		return err
	}
	defer list.Read(e.cutOff)()
	if page.asked || page.query.Has("name") || page.query.Has("owner") {
		cut, err := page.cut(list, e.caller.Account)
		if err != nil {
			return err
		}
		e.linkNext(page, int64(cut.Next))
		return e.sendItem(cut.ETag(), age, cut.Parts...)
	}
	current := list.Representation(negotiate(e.r.Header["Accept-Encoding"]))
	return e.sendCurrent(current, list.ETags(), age)
}

// cut returns the requested page of a list, filtered by owner and name if requested.
func (p *page) cut(list *catalog.Snapshot, caller petcat.AccountID) (catalog.Page, error) {
	owner, err := p.text("owner")
	if err != nil {
		return catalog.Page{}, err
	}
	name, err := p.text("name")
	if err != nil {
		return catalog.Page{}, err
	}
	if !p.asked {
		p.limit = math.MaxInt
	}
	if name != nil {
		p.filter = "name=" + url.QueryEscape(*name) + "&"
	}
	after := petcat.CategoryID(p.after)
	switch {
	case owner != nil && *owner != "me":
		return catalog.Page{}, petcat.Errorf(petcat.CodeInvalidField,
			"the query parameter owner must be me; to list the categories of all accounts, leave it out").In("owner")
	case owner != nil:
		p.filter = "owner=me&" + p.filter
		return list.Owned(caller, name, after, p.limit), nil
	case name != nil:
		return list.Named(*name, after, p.limit), nil
	default:
		return list.Page(after, p.limit), nil
	}
}

// getCategory handles GET /categories/{categoryId}.
func (s *Server) getCategory(e *exchange) error {
	id, err := e.categoryID()
	if err != nil {
		return err
	}
	list, age, err := s.options.Catalog.Current(e.r.Context(), e.Decision.Newest)
	if err != nil {
		return err
	}
	object, etag, found := list.Category(id)
	if !found && age > 0 {
		return petcat.Errorf(petcat.CodeServiceUnavailable,
			"the database is unavailable, and the cached list may lack this category; retry later")
	}
	if !found {
		return petcat.NoSuchCategory()
	}
	return e.sendItem(etag, age, object)
}

// categoryID returns the id in the path, or the error 404.
func (e *exchange) categoryID() (petcat.CategoryID, error) {
	id := e.itemID()
	if id == 0 {
		return 0, petcat.Errorf(petcat.CodeNotFound,
			"the id of a category is a whole number, as in %s/categories/4", basePath)
	}
	return petcat.CategoryID(id), nil
}

// createCategory handles POST /categories.
func (s *Server) createCategory(e *exchange, body []byte) error {
	save := func(n petcat.NewCategory, key petcat.IdempotencyKey) ([]byte, bool, error) {
		rejected, err := s.checkConditions(e)
		if err != nil {
			return nil, false, err
		}
		created, err := s.options.Store.CreateCategory(e.r.Context(), petcat.CreateCategory{
			Account:        e.caller.Account,
			New:            n,
			IdempotencyKey: key,
			Rejected:       rejected,
			Limit:          e.caller.Storage,
		})
		if err != nil {
			return nil, false, err
		}
		encoded, err := catalog.AppendCategory(nil, created.Category)
		e.set("Location", basePath+"/categories/"+strconv.FormatInt(int64(created.Category.ID), 10))
		e.set("ETag", catalog.CategoryETag(encoded))
		return encoded, created.Replayed, err
	}
	return create(e, body, decodeNewCategory, save)
}

// checkConditions evaluates If-Match and If-None-Match of a create. rejected is the error 412 if they
// do not hold, else nil. They are compared with the list before the create, so that the conditions of
// several concurrent creates may hold.
func (s *Server) checkConditions(e *exchange) (rejected *petcat.Error, err error) {
	if !web.Conditional(e.r) {
		return nil, nil
	}
	list, err := s.freshList(e)
	if err != nil {
		return nil, err
	}
	selected := list.ETags()[negotiate(e.r.Header["Accept-Encoding"])]
	if web.Evaluate(e.r, selected, list.ETags()...) != web.Proceed {
		return preconditionFailed(), nil
	}
	return nil, nil
}

// updateCategory handles PATCH /categories/{categoryId}.
func (s *Server) updateCategory(e *exchange, body []byte) error {
	patch, err := decodeCategoryPatch(body)
	if err != nil {
		return err
	}
	id, err := e.categoryID()
	if err != nil {
		return err
	}
	expected, err := s.expectedCategory(e, id)
	if err != nil {
		return err
	}
	updated, err := s.options.Store.UpdateCategory(e.r.Context(), petcat.UpdateCategory{
		ID:       id,
		Account:  e.caller.Account,
		Patch:    patch,
		Expected: expected,
		Limit:    e.caller.Storage,
	})
	if err != nil {
		return err
	}
	encoded, err := catalog.AppendCategory(nil, updated)
	if err != nil {
		return err
	}
	e.set("ETag", catalog.CategoryETag(encoded))
	e.sendJSON(http.StatusOK, encoded)
	return nil
}

// deleteCategory handles DELETE /categories/{categoryId}.
func (s *Server) deleteCategory(e *exchange) error {
	id, err := e.categoryID()
	if err != nil {
		return err
	}
	expected, err := s.expectedCategory(e, id)
	if err != nil {
		return err
	}
	err = s.options.Store.DeleteCategory(e.r.Context(), petcat.DeleteCategory{
		ID:       id,
		Account:  e.caller.Account,
		Expected: expected,
	})
	if err != nil {
		return err
	}
	e.sendNoContent()
	return nil
}

// expectedCategory evaluates If-Match and If-None-Match of a request that changes a category. It
// returns the compared category, so that the store changes it only if it is still the same, or nil if the
// request is unconditional.
func (s *Server) expectedCategory(e *exchange, id petcat.CategoryID) (*petcat.Category, error) {
	if !web.Conditional(e.r) {
		return nil, nil
	}
	list, err := s.freshList(e)
	if err != nil {
		return nil, err
	}
	object, etag, found := list.Category(id)
	switch {
	case !found:
		return nil, petcat.NoSuchCategory()
	case web.Evaluate(e.r, etag, etag) != web.Proceed:
		return nil, preconditionFailed()
	}
	texts, err := decodeNewCategory(object)
	if err != nil {
		return nil, fmt.Errorf("read category %d from the catalog: %w", id, err)
	}
	return new(texts.WithID(id)), nil
}

// freshList returns the list for evaluating the conditions of a change. A stale list is an error,
// because the current list may meet the conditions.
func (s *Server) freshList(e *exchange) (*catalog.Snapshot, error) {
	list, age, err := s.options.Catalog.Current(e.r.Context(), e.Decision.Newest)
	if err == nil && age > 0 {
		err = petcat.Errorf(petcat.CodeServiceUnavailable,
			"the database is unavailable, so If-Match and If-None-Match cannot be checked; retry later")
	}
	return list, err
}

func preconditionFailed() *petcat.Error {
	return petcat.Errorf(petcat.CodePreconditionFailed,
		"the resource has changed, so If-Match or If-None-Match failed; fetch it again before you retry")
}

// create handles a POST that creates a resource. save stores the resource. It returns its JSON, and
// whether an earlier request with the same idempotency key created it.
func create[N any](
	e *exchange, body []byte, decode func([]byte) (N, error),
	save func(N, petcat.IdempotencyKey) (encoded []byte, replayed bool, err error),
) error {
	key, err := web.IdempotencyKey(e.r.Header)
	if err != nil {
		return err
	}
	parsed, err := decode(body)
	if err != nil {
		return err
	}
	encoded, replayed, err := save(parsed, key)
	if err != nil {
		return err
	}
	e.setReplayed(replayed)
	e.sendJSON(http.StatusCreated, encoded)
	return nil
}
