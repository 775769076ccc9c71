package httpapi

import (
	"net/http"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
)

// listCategoryChanges handles GET /categories/changes.
func (s *Server) listCategoryChanges(e *exchange) error {
	page, err := e.limitedPage()
	if err != nil {
		return err
	}
	after, err := page.text("after")
	if err != nil {
		return err
	}
	list, age, err := s.options.Catalog.Current(e.r.Context(), e.Decision.Newest)
	if err != nil {
		return err
	}
	defer list.Read(e.cutOff)()
	position := list.Begin()
	if after != nil {
		if position, err = list.ParseCursor(*after); err != nil {
			return err
		}
	}
	changes, err := s.changes(e, list, position, page.limit)
	if err != nil {
		return err
	}
	if len(changes) < page.limit { // these are all
		position.After = max(position.After, list.Revision())
	}
	body := [][]byte{[]byte("[")}
	for _, c := range changes {
		position.After = max(position.After, c.Revision)
		if body, err = list.AppendChange(body, c); err != nil {
			return err
		}
	}
	e.linkAfter(page, list.Cursor(position))
	e.setAge(age)
	e.sendJSON(http.StatusOK, catalog.EndArray(body)...)
	return nil
}

// changes returns the next changes. It does not query the store if the list has none.
func (s *Server) changes(
	e *exchange, list *catalog.Snapshot, p petcat.ChangePosition, limit int,
) ([]petcat.RevisedCategory, error) {
	if p.After == list.Revision() {
		return nil, nil
	}
	return s.options.Store.CategoryChanges(e.r.Context(), petcat.ChangeQuery{
		ChangePosition: p,
		Listed:         list.Revision(),
		Limit:          limit,
	})
}
