package petcat

import (
	"context"
	"crypto/sha256"
)

// PetID identifies a pet, as a [CategoryID] identifies a category.
type PetID int64

// Pet is an animal, classified by a category.
type Pet struct {
	ID       PetID
	Name     string
	Category CategoryID
}

// NewPet is what a caller may say about a pet that is to be created. The zero
// value is not valid: [ParseNewPet] is the only way to one.
type NewPet struct {
	name     string
	category CategoryID
}

// MaxPetName is the longest name, in characters (Unicode code points).
const MaxPetName = MaxCategoryName

// ParseNewPet checks a pet to be created; nil means that the caller did not send
// the field. It returns an [Error] with [CodeMissingField] or [CodeInvalidField].
// Names follow the rules of categories' names. Whether the category exists, the store
// says.
func ParseNewPet(name *string, category *CategoryID) (NewPet, error) {
	switch {
	case name == nil:
		return NewPet{}, missing("name")
	case category == nil:
		return NewPet{}, missing("category_id")
	}
	if err := (textRule{field: "name", maxRunes: MaxPetName}).check(*name); err != nil {
		return NewPet{}, err
	}
	return NewPet{name: *name, category: *category}, nil
}

// Name returns the name to be stored.
func (n NewPet) Name() string { return n.name }

// Category returns the category that is to classify the pet.
func (n NewPet) Category() CategoryID { return n.category }

// WithID returns the pet that n becomes once it has an id.
func (n NewPet) WithID(id PetID) Pet { return Pet{ID: id, Name: n.name, Category: n.category} }

// Fingerprint returns a SHA-256 of what the caller asked for; see
// [NewCategory.Fingerprint].
func (n NewPet) Fingerprint() [sha256.Size]byte {
	return fingerprint(OpCreatePet, n.name, int64(n.category))
}

// CreatePet asks a store for a pet.
type CreatePet struct {
	Account AccountID
	New     NewPet
	// IdempotencyKey is "" when the caller sent none.
	IdempotencyKey IdempotencyKey
}

// CreatedPet is a store's answer to [CreatePet].
type CreatedPet struct {
	Pet Pet
	// Replayed says that the pet was created by an earlier request with the same
	// idempotency key.
	Replayed bool
}

// PetQuery says which pets to list.
type PetQuery struct {
	Category CategoryID // 0: of all categories
	After    PetID      // ids above this one
	Limit    int        // maximum number of pets
}

// PetStore keeps pets. All accounts share them.
type PetStore interface {
	// CreatePet makes a pet durable, together with its idempotency key, before it
	// returns. The category exists when that happens, and cannot be deleted from then
	// on. It returns an [Error] with [CodeInvalidField] for a category that does not
	// exist, [CodeIdempotencyKeyReused], [CodeIdempotencyInProgress], or
	// [CodeServiceUnavailable]; after the last, the pet may or may not exist if
	// [ErrOutcomeUnknown] is in its chain.
	CreatePet(ctx context.Context, c CreatePet) (CreatedPet, error)

	// FindPet returns a pet, or an [Error] with [CodeNotFound] or
	// [CodeServiceUnavailable].
	FindPet(ctx context.Context, id PetID) (Pet, error)

	// ListPets returns pets by id ascending, or an [Error] with
	// [CodeServiceUnavailable]. It shows every pet whose creation was answered before
	// the call.
	ListPets(ctx context.Context, q PetQuery) ([]Pet, error)
}

// OrderID identifies an order, as a [CategoryID] identifies a category. The orders of
// all accounts are numbered together.
type OrderID int64

// Order is an order of a pet from the store.
type Order struct {
	ID       OrderID
	Pet      PetID
	Quantity int64 // from 1 to MaxQuantity
}

// MaxQuantity is the maximum quantity of an order.
const MaxQuantity = 1_000

// NewOrder is what a caller may say about an order. The zero value is not valid:
// [ParseNewOrder] is the only way to one.
type NewOrder struct {
	pet      PetID
	quantity int64
}

// ParseNewOrder checks an order; nil means that the caller did not send the field.
// It returns an [Error] with [CodeMissingField] or [CodeInvalidField]. Whether the pet
// exists, the store says.
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

// Pet returns the pet that is ordered.
func (n NewOrder) Pet() PetID { return n.pet }

// Quantity returns how much is ordered.
func (n NewOrder) Quantity() int64 { return n.quantity }

// WithID returns the order that n becomes once it has an id.
func (n NewOrder) WithID(id OrderID) Order { return Order{ID: id, Pet: n.pet, Quantity: n.quantity} }

// Fingerprint returns a SHA-256 of what the caller asked for; see
// [NewCategory.Fingerprint].
func (n NewOrder) Fingerprint() [sha256.Size]byte {
	return fingerprint(OpCreateOrder, "", int64(n.pet), n.quantity)
}

// CreateOrder asks a store for an order.
type CreateOrder struct {
	Account AccountID
	New     NewOrder
	// IdempotencyKey is "" when the caller sent none.
	IdempotencyKey IdempotencyKey
}

// CreatedOrder is a store's answer to [CreateOrder].
type CreatedOrder struct {
	Order Order
	// Replayed says that the order was created by an earlier request with the same
	// idempotency key.
	Replayed bool
}

// OrderQuery says which orders to list.
type OrderQuery struct {
	Account AccountID // whose they are
	After   OrderID   // ids above this one
	Limit   int       // maximum number of orders
}

// OrderStore keeps orders. Only the account that placed an order sees it.
type OrderStore interface {
	// CreateOrder makes an order durable, together with its idempotency key, before
	// it returns. Its errors are those of [PetStore.CreatePet], with
	// [CodeInvalidField] for a pet that does not exist.
	CreateOrder(ctx context.Context, c CreateOrder) (CreatedOrder, error)

	// ListOrders returns an account's orders by id ascending, or an [Error] with
	// [CodeServiceUnavailable]. It shows every order whose creation was answered
	// before the call.
	ListOrders(ctx context.Context, q OrderQuery) ([]Order, error)
}
