package petcat

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
)

// Category is a class of pets.
type Category struct {
	ID          int64  `json:"id"` // ascending in the order of creation, never reused
	Name        string `json:"name"`
	Description string `json:"description,omitempty"` // "" when there is none
	// ETag identifies the category's current state, for [WithIfMatch]. Create, Get and Update
	// return it; it is empty in lists.
	ETag string `json:"-"`
}

// NewCategory is a category to create.
type NewCategory struct {
	Name        string `json:"name"`                  // 1 to 1,000 characters, not only white space
	Description string `json:"description,omitempty"` // at most 10,000 characters; "" for none
}

// CategoryChange is an update of a category. A nil field stays unchanged.
type CategoryChange struct {
	Name        *string
	Description *string // "" removes it
}

// Ptr returns a pointer to a value, for [CategoryChange].
func Ptr[T any](v T) *T { return &v }

// Categories are the operations on categories. All accounts share one list.
type Categories struct{ client *Client }

const categoriesPath = "/categories"

// Create creates a category. When it returns, the category is on the service's disk. After an
// [ErrOutcomeUnknown], the category may exist: to find out, retry with the same
// [WithIdempotencyKey]. A repeated create returns the first result, as it was then, even if the
// category was changed or deleted since; [Response].Replayed is true.
func (s *Categories) Create(ctx context.Context, n NewCategory, options ...Option) (Category, *Response, error) {
	return s.one(ctx, http.MethodPost, categoriesPath, n, options)
}

// Get returns one category, with its ETag.
func (s *Categories) Get(ctx context.Context, id int64, options ...Option) (Category, *Response, error) {
	return s.one(ctx, http.MethodGet, pathOf(categoriesPath, id), nil, options)
}

// Update changes a category and returns the result. Only the account that created the category
// may change it. To change what you have read, pass WithIfMatch(category.ETag): then the update
// fails if the category has changed, and is retried safely. Without [WithIfMatch], the last
// change wins, and an update that may have been carried out is not retried: after an
// [ErrOutcomeUnknown], read the category to find out.
func (s *Categories) Update(
	ctx context.Context, id int64, change CategoryChange, options ...Option,
) (Category, *Response, error) {
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
	return s.one(ctx, http.MethodPatch, pathOf(categoriesPath, id), patch, options)
}

// one calls an operation that returns a category.
func (s *Categories) one(
	ctx context.Context, method, path string, in any, options []Option,
) (Category, *Response, error) {
	c, res, err := one[Category](ctx, s.client, method, path, in, options)
	if err == nil {
		c.ETag = res.ETag
	}
	return c, res, err
}

// Delete deletes a category, unconditionally unless you pass [WithIfMatch]. Only the account
// that created the category may delete it. If the account has pets of it, the error is
// [CodeCategoryInUse].
func (s *Categories) Delete(ctx context.Context, id int64, options ...Option) (*Response, error) {
	return s.client.Do(ctx, http.MethodDelete, pathOf(categoriesPath, id), nil, nil, options...)
}

// List returns all categories by ascending id, from one response. It contains every category
// whose Create has returned, on any node. While the service cannot reach its database, the
// list may be up to 30 seconds old.
func (s *Categories) List(ctx context.Context, options ...Option) ([]Category, *Response, error) {
	return s.Find(ctx, CategoryFilter{}, options...)
}

// CategoryFilter selects categories.
type CategoryFilter struct {
	Name string // exactly; "": any
}

// Find is List for the categories that match a filter.
func (s *Categories) Find(ctx context.Context, f CategoryFilter, options ...Option) ([]Category, *Response, error) {
	path := categoriesPath
	if f.Name != "" {
		path += "?" + url.Values{"name": {f.Name}}.Encode()
	}
	var found list[Category]
	res, err := s.client.Do(ctx, http.MethodGet, path, nil, &found, options...)
	return found, res, err
}

// ListIfChanged is List for a program that already has a list. etag is from its Response. If
// the list still has that ETag, ListIfChanged returns a nil list and the Status 304. The
// request counts against the limits either way. An empty etag returns the list.
func (s *Categories) ListIfChanged(ctx context.Context, etag string, options ...Option) ([]Category, *Response, error) {
	if etag != "" {
		options = append(slices.Clip(options), WithHeader(headerIfNoneMatch, etag))
	}
	return s.List(ctx, options...)
}

// All returns an iterator over all categories, by ascending id. It requests a page when the
// loop reaches it, and stops after an error. It may or may not include a category that is
// created or deleted during the loop.
func (s *Categories) All(ctx context.Context, p PageOptions, options ...Option) iter.Seq2[Category, error] {
	return all[Category](ctx, s.client, categoriesPath, url.Values{}, p, options)
}

func (c Category) id() int64 { return c.ID }
