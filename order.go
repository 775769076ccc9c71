package petcat

import (
	"context"
	"crypto/sha256"
)

// OrderID identifies an order. It has the properties of a [CategoryID], across all accounts.
type OrderID int64

// Order is an order of a pet.
type Order struct {
	ID       OrderID
	Pet      PetID // it may have been deleted
	Quantity int64 // from 1 to MaxQuantity
}

// MaxQuantity is the maximum quantity of an order.
const MaxQuantity = 1_000

// NewOrder is a valid order to be created. Only [ParseNewOrder] makes one.
type NewOrder struct {
	pet      PetID
	quantity int64
}

// ParseNewOrder validates an order; nil means that the client did not send the field. It
// returns an [Error] with [CodeMissingField] or [CodeInvalidField]. Only the store knows whether
// the pet exists.
func ParseNewOrder(pet *PetID, quantity *int64) (NewOrder, error) {
	switch {
	case pet == nil:
		return NewOrder{}, missing("pet_id")
	case quantity == nil:
		return NewOrder{}, missing("quantity")
	case *quantity < 1 || *quantity > MaxQuantity:
		return NewOrder{}, Errorf(CodeInvalidField, "quantity must be from 1 to %d", MaxQuantity).In("quantity")
	}
	return NewOrder{pet: *pet, quantity: *quantity}, nil
}

// Pet returns the ordered pet.
func (n NewOrder) Pet() PetID { return n.pet }

// Quantity returns the ordered quantity.
func (n NewOrder) Quantity() int64 { return n.quantity }

// WithID returns the order with its id.
func (n NewOrder) WithID(id OrderID) Order { return Order{ID: id, Pet: n.pet, Quantity: n.quantity} }

// Fingerprint returns a SHA-256 of the request; see [NewCategory.Fingerprint].
func (n NewOrder) Fingerprint() [sha256.Size]byte {
	return fingerprint(OpCreateOrder, "", int64(n.pet), n.quantity)
}

// CreateOrder asks a store for an order.
type CreateOrder struct {
	Account AccountID
	New     NewOrder
	// IdempotencyKey is "" if the client did not send one.
	IdempotencyKey IdempotencyKey
	// Limit is the maximum that the account may store; zero: unlimited.
	Limit Storage
}

// CreatedOrder is the result of [CreateOrder].
type CreatedOrder struct {
	Order Order
	// Replayed is true if an earlier request with the same idempotency key created the order.
	Replayed bool
}

// OrderQuery selects a page of orders.
type OrderQuery struct {
	Account AccountID
	After   OrderID // ids above this one
	Limit   int     // maximum number of orders
}

// OrderStore keeps orders, each visible only to the account that placed it.
type OrderStore interface {
	// CreateOrder stores an order and its idempotency key durably. It returns the same
	// errors as [PetStore.CreatePet], with [CodeInvalidField] if the pet does not exist.
	CreateOrder(ctx context.Context, c CreateOrder) (CreatedOrder, error)

	// ListOrders returns an account's orders by ascending id, including every order whose
	// creation was acknowledged before the call, or an [Error] with
	// [CodeServiceUnavailable].
	ListOrders(ctx context.Context, q OrderQuery) ([]Order, error)
}
