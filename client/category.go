package client

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Category is a class of pets.
type Category struct {
	ID          int64  `json:"id"` // ascending in the order of creation, never reused
	Name        string `json:"name"`
	Description string `json:"description,omitempty"` // "" when there is none
	// ETag names this state of the category, for [CategoryChange] and DeleteIfMatch. Create,
	// Get and Update return it; it is empty in lists.
	ETag string `json:"-"`
}

// NewCategory is a category to create.
type NewCategory struct {
	Name        string `json:"name"`                  // 1 to 1,000 characters, not only white space
	Description string `json:"description,omitempty"` // at most 10,000 characters; "" for none
	// IdempotencyKey names the create: within 24 hours, a second one of the same name
	// and content returns the category of the first. Set it if you may retry the create
	// yourself, as after a restart of your program: 1 to 255 visible ASCII characters
	// without double quotes. If it is empty, each call makes one, which is the same for
	// all its requests.
	IdempotencyKey string `json:"-"`
}

// CategoryChange says what to change in a category. What is nil stays as it is.
type CategoryChange struct {
	Name        *string
	Description *string // "" removes it
	// IfMatch is the ETag that the category must have; else nothing is changed and the
	// error is [CodePreconditionFailed]. Empty: any.
	IfMatch string
}

// Categories are the operations on categories. All accounts share one list of them.
type Categories struct{ client *Client }

const categoriesPath = "/categories"

// Create creates a category. The service has it on disk when Create returns it. After an
// [ErrOutcomeUnknown] it may exist: only a retry with the same IdempotencyKey can
// tell.
func (s *Categories) Create(ctx context.Context, n NewCategory) (Category, error) {
	if n.IdempotencyKey == "" {
		n.IdempotencyKey = rand.Text()
	}
	return s.one(ctx, &call{
		name: "create category", method: http.MethodPost, path: categoriesPath, body: n, bodyType: "application/json",
		header: map[string]string{headerIdempotencyKey: n.IdempotencyKey}, retryable: true,
	})
}

// List returns all categories by ascending id, from one response. It contains every category
// whose Create has returned before, on any node. Only while the service cannot reach its
// database, it may be up to 30 seconds old.
func (s *Categories) List(ctx context.Context) ([]Category, error) {
	list, _, err := s.ListIfChanged(ctx, "")
	return list, err
}

// ListIfChanged is List that also returns the list's ETag. If the list still has the given
// ETag, the service sends no list: list is nil, and newETag is etag. The request counts
// against the limits in any case.
func (s *Categories) ListIfChanged(ctx context.Context, etag string) (list []Category, newETag string, err error) {
	list, res, err := fetch[[]Category](ctx, s.client, &call{
		name: "list categories", method: http.MethodGet, path: categoriesPath,
		header: map[string]string{"If-None-Match": etag}, maxBody: maxListBody, retryable: true,
	})
	switch {
	case err != nil:
		return nil, "", err
	case res.status == http.StatusNotModified:
		return nil, etag, nil
	}
	return list, res.header.Get("ETag"), nil
}

// Pages returns the list in pages. Each page takes one request, which is sent when the loop
// asks for it. After an error there are no more pages. A category that is created or deleted
// meanwhile may or may not be in them.
func (s *Categories) Pages(ctx context.Context, p PageOptions) iter.Seq2[[]Category, error] {
	return pages[Category](ctx, s.client, call{
		name: "list categories", method: http.MethodGet, path: categoriesPath, query: p.query(),
		maxBody: maxListBody, retryable: true,
	})
}

// All returns all categories one by one. It reads them in pages of 1,000.
func (s *Categories) All(ctx context.Context) iter.Seq2[Category, error] {
	return elements(s.Pages(ctx, PageOptions{}))
}

// Get returns one category, with its ETag.
func (s *Categories) Get(ctx context.Context, id int64) (Category, error) {
	return s.one(ctx, &call{name: "get category", method: http.MethodGet, path: categoryPath(id), retryable: true})
}

// Update changes a category and returns it as it is after the change. Only the account that
// created it may do so. A change that may have been carried out is not retried: after an
// [ErrOutcomeUnknown], read the category to find out.
func (s *Categories) Update(ctx context.Context, id int64, change CategoryChange) (Category, error) {
	patch := map[string]any{}
	if change.Name != nil {
		patch["name"] = *change.Name
	}
	if change.Description != nil {
		patch["description"] = nil
		if *change.Description != "" {
			patch["description"] = *change.Description
		}
	}
	return s.one(ctx, &call{
		name: "update category", method: http.MethodPatch, path: categoryPath(id), body: patch, bodyType: "application/merge-patch+json",
		header: map[string]string{"If-Match": change.IfMatch},
	})
}

// Delete deletes a category, whatever its ETag is. Only the account that created it may do
// so. While pets use it, the error is [CodeCategoryInUse].
func (s *Categories) Delete(ctx context.Context, id int64) error { return s.delete(ctx, id, "") }

// DeleteIfMatch is Delete for a category that still has an ETag, which Create, Get and Update return.
// If it has another, nothing is deleted and the error is [CodePreconditionFailed].
func (s *Categories) DeleteIfMatch(ctx context.Context, id int64, etag string) error {
	if etag == "" { // without If-Match, the service would delete it in any case
		return errors.New("petcat: delete category: the ETag is empty; Get and Update return it")
	}
	return s.delete(ctx, id, etag)
}

// delete deletes a category. If etag is not empty, the category must have it.
func (s *Categories) delete(ctx context.Context, id int64, etag string) error {
	r := &call{
		name: "delete category", method: http.MethodDelete, path: categoryPath(id),
		header: map[string]string{"If-Match": etag}, maxBody: maxBody, retryable: true,
	}
	_, err := s.client.do(ctx, r)
	if !r.unknownSince.IsZero() && isStatus(err, http.StatusNotFound) {
		return nil // an earlier request of this call, which got no response, deleted it
	}
	return err
}

// one calls an operation that returns a category.
func (s *Categories) one(ctx context.Context, r *call) (Category, error) {
	r.maxBody = maxBody
	c, res, err := fetch[Category](ctx, s.client, r)
	if err != nil {
		return Category{}, err
	}
	c.ETag = res.header.Get("ETag")
	return c, nil
}

func categoryPath(id int64) string { return categoriesPath + "/" + strconv.FormatInt(id, 10) }

// PageOptions says how a list is read in pages.
type PageOptions struct {
	// Limit is how many elements a page has at most, 1 to 1,000. 0 means 1,000.
	Limit int
	// After is an id: the first page begins after it.
	After int64
}

// maxPage is the most elements that the service puts into a page.
const maxPage = 1000

func (p PageOptions) query() url.Values {
	if p.Limit == 0 {
		p.Limit = maxPage
	}
	q := url.Values{"limit": {strconv.Itoa(p.Limit)}}
	if p.After != 0 {
		q.Set("after", strconv.FormatInt(p.After, 10))
	}
	return q
}

// nextLink finds the next page in a Link header.
var nextLink = regexp.MustCompile(`<([^<>]*)>[^<>]*;\s*rel="?next\b`)

// pages returns the pages of a list. Each page takes one request, which is sent when the
// loop asks for it. After an error there are no more pages.
func pages[T any](ctx context.Context, c *Client, first call) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for query := first.query; query != nil; {
			r := first
			r.query = query
			page, res, err := fetch[[]T](ctx, c, &r)
			if err == nil {
				if query, err = nextPage(res.header, r.query); err != nil {
					err = r.failed(err, nil)
				}
			}
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// nextPage returns the query of the page after a response's, nil if it was the last. Only the
// query of the link is used, so that a link cannot lead the key to another host.
func nextPage(h http.Header, query url.Values) (url.Values, error) {
	found := nextLink.FindStringSubmatch(strings.Join(h.Values("Link"), ", "))
	if found == nil {
		return nil, nil
	}
	to, err := url.Parse(found[1])
	if err != nil {
		return nil, err
	}
	next := to.Query()
	if next.Encode() == query.Encode() {
		return nil, errors.New("the next page is the same page")
	}
	return next, nil
}

// elements returns the elements of all pages.
func elements[T any](pages iter.Seq2[[]T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page, err := range pages {
			for _, element := range page {
				if !yield(element, nil) {
					return
				}
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
		}
	}
}
