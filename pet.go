package petcat

import (
	"context"
	"crypto/sha256"
)

// PetID identifies a pet. It has the properties of a [CategoryID].
type PetID int64

// Pet is an animal of a category.
type Pet struct {
	ID       PetID
	Name     string
	Category CategoryID // another account's category may have been deleted
}

// NewPet is a valid pet to be created. Only [ParseNewPet] makes one.
type NewPet struct {
	name     string
	category CategoryID
}

// MaxPetName is the maximum length of a name, in characters (Unicode code points).
const MaxPetName = MaxCategoryName

// ParseNewPet validates a pet to be created; nil means that the client did not send the field.
// It returns an [Error] with [CodeMissingField] or [CodeInvalidField]. The rules for names are
// the same as for categories. Only the store knows whether the category exists.
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

// Name returns the name.
func (n NewPet) Name() string { return n.name }

// Category returns the category of the pet.
func (n NewPet) Category() CategoryID { return n.category }

// WithID returns the pet with its id.
func (n NewPet) WithID(id PetID) Pet { return Pet{ID: id, Name: n.name, Category: n.category} }

// Fingerprint returns a SHA-256 of the request; see [NewCategory.Fingerprint].
func (n NewPet) Fingerprint() [sha256.Size]byte {
	return fingerprint(OpCreatePet, n.name, int64(n.category))
}

// CreatePet asks a store for a pet.
type CreatePet struct {
	Account AccountID
	New     NewPet
	// IdempotencyKey is "" if the client did not send one.
	IdempotencyKey IdempotencyKey
	// Limit is the maximum that the account may store; zero: unlimited.
	Limit Storage
}

// CreatedPet is the result of [CreatePet].
type CreatedPet struct {
	Pet Pet
	// Replayed is true if an earlier request with the same idempotency key created the pet.
	Replayed bool
}

// PetQuery selects a page of pets.
type PetQuery struct {
	Category CategoryID // 0: of all categories
	After    PetID      // ids above this one
	Limit    int        // maximum number of pets
}

// DeletePet asks a store to delete a pet.
type DeletePet struct {
	ID      PetID
	Account AccountID // the account, which must be the creator; 0 for an operator, who may delete all
	// By is the operator who sent the request. It is "" for a request of an account. Only
	// changes by operators are in the audit log.
	By Actor
}

// CheckPetChange checks whether the account by, or an operator if it is 0, may delete a pet of
// creator. It returns an [Error] with [CodeForbidden].
func CheckPetChange(creator, by AccountID) error {
	if by != 0 && by != creator {
		return Errorf(CodeForbidden,
			"this pet was created by another account; only that account and the operator may delete it")
	}
	return nil
}

// NoSuchPet returns the error for the id of an unknown or deleted pet.
func NoSuchPet() *Error {
	return Errorf(CodeNotFound, "there is no pet with this id; it may have been deleted")
}

// PetStore keeps pets. All accounts share them.
type PetStore interface {
	// CreatePet stores a pet and its idempotency key durably. From then on, its account
	// cannot delete the category. It returns an [Error] with [CodeInvalidField] if the
	// category does not exist, [CodeIdempotencyKeyReused], [CodeIdempotencyInProgress], or
	// [CodeServiceUnavailable]. If [ErrOutcomeUnknown] is in the chain of the last one, the
	// pet may or may not exist.
	CreatePet(ctx context.Context, c CreatePet) (CreatedPet, error)

	// FindPet returns a pet, or an [Error] with [CodeNotFound] or
	// [CodeServiceUnavailable].
	FindPet(ctx context.Context, id PetID) (Pet, error)

	// DeletePet deletes a pet durably; orders keep its id. It returns an [Error] with
	// [CodeNotFound], [CodeForbidden], or [CodeServiceUnavailable]. If [ErrOutcomeUnknown] is
	// in the chain of the last one, the pet may or may not exist.
	DeletePet(ctx context.Context, d DeletePet) error

	// ListPets returns pets by ascending id, including every pet whose creation was
	// acknowledged before the call, or an [Error] with [CodeServiceUnavailable].
	ListPets(ctx context.Context, q PetQuery) ([]Pet, error)
}
