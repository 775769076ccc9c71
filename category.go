package petcat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// CategoryID identifies a category: from 1, ascending in the order of creation,
// never reused, and below 2^53, so that every JSON number type can hold it.
type CategoryID int64

// Category is a class of pets, such as dogs.
type Category struct {
	ID   CategoryID
	Name string
	// Description is nil when the category was created without one, which
	// differs from an empty one.
	Description *string
}

// NewCategory is what a caller may say about a category that is to be created.
// The zero value is not valid: [ParseNewCategory] is the only way to one.
type NewCategory struct {
	name        string
	description *string
}

// Limits of a category's texts, in characters (Unicode code points).
const (
	MaxCategoryName        = 1_000
	MaxCategoryDescription = 10_000
)

// ParseNewCategory checks the texts of a category to be created; nil means that
// the caller did not send the field. It returns an [Error] with
// [CodeMissingField] or [CodeInvalidField]. The texts are kept as they were
// sent: nothing is trimmed or normalised, and names need not be unique.
func ParseNewCategory(name, description *string) (NewCategory, error) {
	if name == nil {
		return NewCategory{}, missing("name")
	}
	if err := checkCategory(name, description); err != nil {
		return NewCategory{}, err
	}
	return NewCategory{name: *name, description: description}, nil
}

// missing returns the error for a member that must be sent.
func missing(field string) error {
	return Errorf(CodeMissingField, "%s is required", field).In(field)
}

// checkCategory checks the texts that are not nil.
func checkCategory(name, description *string) error {
	if name != nil {
		if err := (textRule{field: "name", maxRunes: MaxCategoryName}).check(*name); err != nil {
			return err
		}
	}
	if description != nil {
		return textRule{field: "description", maxRunes: MaxCategoryDescription, lines: true, blank: true}.check(*description)
	}
	return nil
}

// Name returns the name to be stored.
func (n NewCategory) Name() string { return n.name }

// Description returns the description to be stored, nil for none.
func (n NewCategory) Description() *string { return n.description }

// WithID returns the category that n becomes once it has an id.
func (n NewCategory) WithID(id CategoryID) Category {
	return Category{ID: id, Name: n.name, Description: n.description}
}

// Fingerprint returns a SHA-256 of what the caller asked for. Two requests with
// the same fingerprint ask for the same category, however their JSON is spelled.
func (n NewCategory) Fingerprint() [sha256.Size]byte {
	if n.description == nil {
		return fingerprint(OpCreateCategory, n.name, int64(len(n.name)), 0)
	}
	return fingerprint(OpCreateCategory, n.name+*n.description, int64(len(n.name)), 1)
}

// CategoryPatch is a validated merge patch of a category. The zero value changes nothing.
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

// Equal reports whether two categories are the same in every field.
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
	// IdempotencyKey is "" when the caller sent none.
	IdempotencyKey IdempotencyKey
	// Refused, if not nil, is the error for a new category. A replay of an earlier create
	// succeeds all the same.
	Refused *Error
	// By is the operator whose request it is; then Account is 0. It is "" for a request of
	// an account. The audit log has only the changes of operators.
	By Actor
}

// CreatedCategory is a store's answer to [CreateCategory].
type CreatedCategory struct {
	Category Category
	// Replayed says that the category was created by an earlier request with
	// the same idempotency key.
	Replayed bool
}

// UpdateCategory asks a store to change a category.
type UpdateCategory struct {
	ID      CategoryID
	Account AccountID // the account that must have created it; 0 for an operator, who may change all
	Patch   CategoryPatch
	// Expected is the category as it must be before the change; nil for no condition.
	Expected *Category
	By       Actor // as of [CreateCategory]
}

// DeleteCategory asks a store to delete a category.
type DeleteCategory struct {
	ID       CategoryID
	Account  AccountID // as of [UpdateCategory]
	Expected *Category // as of [UpdateCategory]
	By       Actor     // as of [CreateCategory]
}

// CheckCategoryChange returns nil if an account may change or delete a category; account 0
// stands for an operator, creator is the account that created it. expected is the category
// as it must be, nil for no condition. Otherwise it returns an [Error] with [CodeForbidden]
// or [CodePreconditionFailed].
func CheckCategoryChange(c Category, creator, by AccountID, expected *Category) error {
	if by != 0 && by != creator {
		return Errorf(CodeForbidden, "this category was created by another account; only that account and the operator may change or delete it")
	}
	if expected != nil && !c.Equal(*expected) {
		return Errorf(CodePreconditionFailed, "the category has changed; fetch it again before you retry")
	}
	return nil
}

// NoSuchCategory returns the error for an id of no category, or of a deleted one.
func NoSuchCategory() *Error {
	return Errorf(CodeNotFound, "there is no category with this id; it may have been deleted")
}

// RevisedCategory is a category as of a revision.
type RevisedCategory struct {
	Category
	Revision Revision
	// Deleted is true if the category was deleted in this revision; then only its id is set.
	Deleted bool
}

// CategoryOrigin says who created a category, and when.
type CategoryOrigin struct {
	Category  CategoryID
	Account   AccountID // 0: an operator
	CreatedAt time.Time
}

// CategoryStore keeps categories.
type CategoryStore interface {
	// CreateCategory makes a category durable, together with its idempotency
	// key, before it returns: it survives a crash and a power cut from then on.
	// It returns an [Error] with [CodeIdempotencyKeyReused],
	// [CodeIdempotencyInProgress], or [CodeServiceUnavailable]; after the last,
	// the category may or may not exist.
	CreateCategory(ctx context.Context, c CreateCategory) (CreatedCategory, error)

	// UpdateCategory changes a category, as durably, and returns it. It returns
	// an [Error] with [CodeNotFound], [CodeForbidden], [CodePreconditionFailed], or
	// [CodeServiceUnavailable]; after the last, the change may or may not have been
	// made if [ErrOutcomeUnknown] is in its chain.
	UpdateCategory(ctx context.Context, u UpdateCategory) (Category, error)

	// DeleteCategory deletes a category that no pet uses, as durably. Its errors are
	// those of UpdateCategory, and one with [CodeCategoryInUse].
	DeleteCategory(ctx context.Context, d DeleteCategory) error

	// EachCategory calls fn for every category that was ever created, the deleted
	// ones included, by id ascending, as of one moment, and stops at the first
	// error that fn returns. The categories' texts are valid until fn returns.
	EachCategory(ctx context.Context, fn func(RevisedCategory) error) error
}

// CategoryFeed is how a server that shares its store with others learns what
// they created, changed and deleted.
type CategoryFeed interface {
	// CategoriesSince calls fn for every category that changed after a revision, by
	// revision ascending, and stops at the first error that fn returns. It returns the
	// revision up to which fn has got every change, even with an error. If nothing
	// changed, it costs one small query.
	CategoriesSince(ctx context.Context, after Revision, fn func(RevisedCategory) error) (Revision, error)
}

// textRule is the rule for a text of the domain. The domain checks it, not
// the database, so that every store holds the same: PostgreSQL, for one, cannot
// store U+0000 at all.
type textRule struct {
	field    string // the member
	called   string // in messages; "": as the member
	maxRunes int    // in characters: Unicode code points
	lines    bool   // tabs and line breaks are allowed
	blank    bool   // may have no visible character
}

func (r textRule) check(s string) error {
	fail := func(rule string, args ...any) error {
		return Errorf(CodeInvalidField, "%s must %s", cmp.Or(r.called, r.field), fmt.Sprintf(rule, args...)).In(r.field)
	}
	// The length in bytes bounds the length in characters from above, which
	// spares nearly every text the count.
	switch {
	case !utf8.ValidString(s):
		return fail("be valid UTF-8")
	case len(s) > r.maxRunes && utf8.RuneCountInString(s) > r.maxRunes:
		return fail("have at most %d characters", r.maxRunes)
	case s == "" && !r.blank:
		return fail("not be empty")
	case !r.blank && strings.IndexFunc(s, visible) < 0:
		return fail("contain something besides white space")
	}
	rule := "not contain control characters (found U+%04X)"
	if r.lines {
		rule = "not contain control characters other than tab and line breaks (found U+%04X)"
	}
	for _, c := range s {
		if unicode.IsControl(c) && (!r.lines || c != '\t' && c != '\n' && c != '\r') {
			return fail(rule, c)
		}
	}
	return nil
}

// visible reports whether a character can be seen. White space, separators and format
// characters cannot, such as U+200B.
func visible(c rune) bool {
	return !unicode.IsSpace(c) && !unicode.In(c, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp)
}
