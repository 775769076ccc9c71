package petcat

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// Pet is an animal of a category.
type Pet struct {
	ID         int64  `json:"id"` // ascending in the order of creation, never reused
	Name       string `json:"name"`
	CategoryID int64  `json:"category_id"` // another account's category may have been deleted
}

// NewPet is a pet to create.
type NewPet struct {
	Name       string `json:"name"` // 1 to 1,000 characters, not only white space
	CategoryID int64  `json:"category_id"`
}

// Pets are the operations on pets. All accounts share one list. They are experimental: the service may
// change or remove them at any time.
type Pets struct{ client *Client }

const petsPath = "/pets"

// Create creates a pet, with the guarantees of [Categories.Create].
func (s *Pets) Create(ctx context.Context, n NewPet, options ...Option) (Pet, *Response, error) {
	return one[Pet](ctx, s.client, http.MethodPost, petsPath, n, options)
}

// Get returns one pet.
//
// Deprecated: the service removes this operation on 2027-11-30. Use All with After id-1 and
// Limit 1, and break after the first pet. If it has another id, the pet does not exist.
func (s *Pets) Get(ctx context.Context, id int64, options ...Option) (Pet, *Response, error) {
	return one[Pet](ctx, s.client, http.MethodGet, pathOf(petsPath, id), nil, options)
}

// Delete deletes a pet. Only the account that created the pet may delete it.
func (s *Pets) Delete(ctx context.Context, id int64, options ...Option) (*Response, error) {
	return s.client.Do(ctx, http.MethodDelete, pathOf(petsPath, id), nil, nil, options...)
}

// PetOptions selects the pets of a list.
type PetOptions struct {
	CategoryID int64 // 0: all categories
	PageOptions
}

// All returns an iterator over pets, like [Categories.All].
func (s *Pets) All(ctx context.Context, p PetOptions, options ...Option) iter.Seq2[Pet, error] {
	query := url.Values{}
	if p.CategoryID != 0 {
		query.Set("category_id", strconv.FormatInt(p.CategoryID, 10))
	}
	return all[Pet](ctx, s.client, petsPath, query, p.PageOptions, options)
}

func (p Pet) id() int64 { return p.ID }

// Order is an order of a pet.
type Order struct {
	ID       int64 `json:"id"` // the orders of all accounts are numbered together
	PetID    int64 `json:"pet_id"`
	Quantity int   `json:"quantity"`
}

// NewOrder is an order to create.
type NewOrder struct {
	PetID    int64 `json:"pet_id"`
	Quantity int   `json:"quantity"` // 1 to 1,000
}

// Orders are the operations on store orders, which only their account can see. They are
// experimental: the service may change or remove them at any time.
type Orders struct{ client *Client }

const ordersPath = "/store/orders"

// Create creates an order, with the guarantees of [Categories.Create].
func (s *Orders) Create(ctx context.Context, n NewOrder, options ...Option) (Order, *Response, error) {
	return one[Order](ctx, s.client, http.MethodPost, ordersPath, n, options)
}

// All returns an iterator over the account's orders, like [Categories.All].
func (s *Orders) All(ctx context.Context, p PageOptions, options ...Option) iter.Seq2[Order, error] {
	return all[Order](ctx, s.client, ordersPath, url.Values{}, p, options)
}

func (o Order) id() int64 { return o.ID }
