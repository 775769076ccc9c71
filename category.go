package petcat

import (
	"context"
	"crypto/sha256"
	"time"
)

// CategoryID identifies a category: from 1, ascending in the order of creation,
// never reused, and below 2^53, so that every JSON number type can hold it.
type CategoryID int64

// Category is a class of pets, such as dogs.
type Category struct {
	ID   CategoryID
	Name string
	// Description is nil if there is none, which differs from an empty one.
	Description *string
}

// NewCategory is a valid category to be created. Only [ParseNewCategory] makes one.
type NewCategory struct {
	name        string
	description *string
}

// Limits of a category's texts, in characters (Unicode code points).
const (
	MaxCategoryName        = 1_000
	MaxCategoryDescription = 10_000
)

// ParseNewCategory validates a category to be created; nil means that the client did not send the field.
// It returns an [Error] with [CodeMissingField] or [CodeInvalidField]. The texts are kept as sent,
// neither trimmed nor normalised, and names need not be unique.
func ParseNewCategory(name, description *string) (NewCategory, error) {
	if name == nil {
		return NewCategory{}, missing("name")
	}
	if err := checkCategory(name, description); err != nil {
		return NewCategory{}, err
	}
	return NewCategory{name: *name, description: description}, nil
}

// checkCategory validates the texts that are not nil.
func checkCategory(name, description *string) error {
	if name != nil {
		if err := (textRule{field: "name", maxRunes: MaxCategoryName}).check(*name); err != nil {
			return err
		}
	}
	if description == nil {
		return nil
	}
	rule := textRule{
		field:    "description",
		maxRunes: MaxCategoryDescription,
		lines:    true,
		blank:    true,
	}
	return rule.check(*description)
}

// WithID returns the category with its id.
func (n NewCategory) WithID(id CategoryID) Category {
	return Category{ID: id, Name: n.name, Description: n.description}
}

// Fingerprint returns a SHA-256 of the requested category. It does not depend on the formatting
// of the JSON.
func (n NewCategory) Fingerprint() [sha256.Size]byte {
	if n.description == nil {
		return fingerprint(OpCreateCategory, n.name, int64(len(n.name)), 0)
	}
	return fingerprint(OpCreateCategory, n.name+*n.description, int64(len(n.name)), 1)
}

// CategoryPatch is a validated merge patch of a category. The zero value is an empty patch.
type CategoryPatch struct {
	name              *string
	description       *string
	removeDescription bool
}

// ParseCategoryPatch validates a patch. A nil name or description stays unchanged;
// removeDescription removes the description. It returns an [Error] with [CodeInvalidField].
func ParseCategoryPatch(name, description *string, removeDescription bool) (CategoryPatch, error) {
	if err := checkCategory(name, description); err != nil {
		return CategoryPatch{}, err
	}
	return CategoryPatch{name, description, removeDescription}, nil
}

// Apply returns the patched category.
func (p CategoryPatch) Apply(c Category) Category {
	if p.name != nil {
		c.Name = *p.name
	}
	if p.description != nil || p.removeDescription {
		c.Description = p.description
	}
	return c
}

// Equal reports whether all fields of two categories are equal.
func (c Category) Equal(other Category) bool {
	if c.ID != other.ID || c.Name != other.Name || (c.Description == nil) != (other.Description == nil) {
		return false
	}
	return c.Description == nil || *c.Description == *other.Description
}

// CreateCategory asks a store for a category.
type CreateCategory struct {
	Account AccountID
	New     NewCategory
	// IdempotencyKey is "" if the client did not send one.
	IdempotencyKey IdempotencyKey
	// Rejected, if not nil, is the error for a new category. A replay of an earlier create still
	// succeeds.
	Rejected *Error
	// By is the operator who sent the request; then Account is 0. It is "" for a request of
	// an account. Only changes by operators are in the audit log.
	By Actor
	// Limit is the most that the account may store; zero for an operator.
	Limit Storage
}

// CreatedCategory is the result of [CreateCategory].
type CreatedCategory struct {
	Category Category
	// Replayed is true if an earlier request with the same idempotency key created the
	// category.
	Replayed bool
}

// UpdateCategory asks a store to change a category.
type UpdateCategory struct {
	ID      CategoryID
	Account AccountID // the account, which must be the creator; 0 for an operator, who may change all
	Patch   CategoryPatch
	// Expected is the required category before the change; nil: unconditional.
	Expected *Category
	By       Actor   // as in [CreateCategory]
	Limit    Storage // as in [CreateCategory]
}

// DeleteCategory asks a store to delete a category.
type DeleteCategory struct {
	ID       CategoryID
	Account  AccountID // as in [UpdateCategory]
	Expected *Category // as in [UpdateCategory]
	By       Actor     // as in [CreateCategory]
}

// CheckCategoryChange checks whether the account by, or an operator if it is 0, may change or
// delete a category of creator. If expected is not nil, the category must equal it. It returns
// an [Error] with [CodeForbidden] or [CodePreconditionFailed].
func CheckCategoryChange(c Category, creator, by AccountID, expected *Category) error {
	if by != 0 && by != creator {
		return Errorf(CodeForbidden,
			"this category was created by another account; only that account and the operator may change or delete it")
	}
	if expected != nil && !c.Equal(*expected) {
		return Errorf(CodePreconditionFailed, "the category has changed; fetch it again before you retry")
	}
	return nil
}

// NoSuchCategory returns the error for the id of an unknown or deleted category.
func NoSuchCategory() *Error {
	return Errorf(CodeNotFound, "there is no category with this id; it may have been deleted")
}

// RevisedCategory is a category as of a revision.
type RevisedCategory struct {
	Category
	Revision Revision
	Account  AccountID // the creator; 0: an operator
	// Deleted is true if the category was deleted in this revision; then its texts are empty.
	Deleted bool
}

// DeletionRetention is how long a store keeps a category's deletion for readers of the change feed. Its
// id is never used again.
const DeletionRetention = 30 * 24 * time.Hour

// CategoryOrigin is the creator of a category, and the time of its creation.
type CategoryOrigin struct {
	Category  CategoryID
	Account   AccountID // 0: an operator
	CreatedAt time.Time
}

// ManagedCategory is a category as operators see it.
type ManagedCategory struct {
	Category

	Account   AccountID // the creator; 0: an operator
	CreatedAt time.Time
}

// CategoryStore keeps categories.
type CategoryStore interface {
	// CreateCategory stores a category and its idempotency key. When it returns, both are
	// durable: they survive a crash and a power cut. It returns an [Error] with
	// [CodeIdempotencyKeyReused], [CodeIdempotencyInProgress], [CodeStorageLimitReached], or
	// [CodeServiceUnavailable]; after the last one, the category may or may not exist.
	CreateCategory(ctx context.Context, c CreateCategory) (CreatedCategory, error)

	// UpdateCategory changes a category durably and returns it. It returns an [Error] with
	// [CodeNotFound], [CodeForbidden], [CodePreconditionFailed], [CodeStorageLimitReached], or
	// [CodeServiceUnavailable]. If [ErrOutcomeUnknown] is in the chain of the last one, the
	// change may or may not have been made.
	UpdateCategory(ctx context.Context, u UpdateCategory) (Category, error)

	// DeleteCategory deletes a category durably. It returns the same errors as
	// UpdateCategory, and one with [CodeCategoryInUse] if d.Account has a pet of the category.
	DeleteCategory(ctx context.Context, d DeleteCategory) error

	// FindCategory returns a category, or an [Error] with [CodeNotFound] or
	// [CodeServiceUnavailable].
	FindCategory(ctx context.Context, id CategoryID) (ManagedCategory, error)

	// EachCategory calls fn for every category ever created, deleted ones included, by
	// ascending id, in one snapshot, and stops at the first error that fn returns. The
	// texts of a category are valid until fn returns.
	EachCategory(ctx context.Context, fn func(RevisedCategory) error) error

	// CategoryChanges returns the next changes of a reader by ascending revision, one for each
	// category: its last. It returns the error of [ChangePosition.CheckKept]; deletions are kept
	// for [DeletionRetention].
	CategoryChanges(ctx context.Context, q ChangeQuery) ([]RevisedCategory, error)
}

// CategoryFeed reports the changes that other servers made in a shared store.
type CategoryFeed interface {
	// CategoriesSince calls fn for every category that changed after a revision, by
	// ascending revision, and stops at the first error that fn returns. Without a change, it costs one
	// small query.
	CategoriesSince(ctx context.Context, after Revision, fn func(RevisedCategory) error) error
}
