package petcat

import (
	"context"
	"strings"
	"time"
)

// OperatorName names a person who uses the console: lower-case, unique, and what the
// audit log calls them.
type OperatorName string

// operatorPrefix begins what the audit log calls an operator.
const operatorPrefix = "operator "

// String returns the form that the audit log shows, such as "operator ada".
func (n OperatorName) String() string { return operatorPrefix + string(n) }

// Actor returns the operator as who changed something.
func (n OperatorName) Actor() Actor { return Actor(n.String()) }

// MaxOperatorName is the longest name of an operator in characters.
const MaxOperatorName = 64

// ParseOperatorName checks a name: letters from a to z, digits, and after the first
// character also . _ - @, which every keyboard has. It returns an [Error] with
// [CodeInvalidField].
func ParseOperatorName(s string) (OperatorName, error) {
	allowed := func(i int, c rune) bool {
		return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || i > 0 && strings.ContainsRune("._-@", c)
	}
	ok := s != "" && len(s) <= MaxOperatorName
	for i, c := range s {
		ok = ok && allowed(i, c)
	}
	if !ok {
		return "", Errorf(CodeInvalidField, "an operator's name has 1 to %d characters: a-z, 0-9, and after the first one also . _ - @ (got %.100q)", MaxOperatorName, s)
	}
	return OperatorName(s), nil
}

// Role is what an operator may do in the console.
type Role string

// The roles.
const (
	RoleAdmin  Role = "admin"  // sees and changes everything
	RoleViewer Role = "viewer" // sees everything
)

// Changes reports whether the role may change anything.
func (r Role) Changes() bool { return r == RoleAdmin }

// ParseRole returns an [Error] with [CodeInvalidField] for a name that is not a role's.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case RoleAdmin, RoleViewer:
		return r, nil
	default:
		return "", Errorf(CodeInvalidField, "a role must be admin or viewer (got %.100q)", s)
	}
}

// Operator is a person who may use the console.
type Operator struct {
	Name      OperatorName
	Role      Role
	CreatedAt time.Time
	// LinkEndsAt is until when the operator's link can be used, zero without one.
	LinkEndsAt time.Time
	// Sessions is how many are open.
	Sessions int64
}

// NewOperator is an operator who is to be created; [ParseNewOperator] is the only way to
// a valid one.
type NewOperator struct {
	name OperatorName
	role Role
}

// ParseNewOperator checks a name and a role. It returns an [Error] with
// [CodeInvalidField].
func ParseNewOperator(name, role string) (NewOperator, error) {
	n, err := ParseOperatorName(name)
	if err != nil {
		return NewOperator{}, err
	}
	r, err := ParseRole(role)
	return NewOperator{name: n, role: r}, err
}

// Name returns the operator's name.
func (n NewOperator) Name() OperatorName { return n.name }

// Role returns the operator's role.
func (n NewOperator) Role() Role { return n.role }

// OperatorStore keeps operators and their links. Every change commits together with its
// audit entry.
type OperatorStore interface {
	// CreateOperator creates an operator with a link, which can be used until
	// [LinkLife] has passed. It returns an [Error] with [CodeInvalidField] when the
	// name is taken.
	CreateOperator(ctx context.Context, by Actor, o NewOperator, link TokenHash) (Operator, error)
	// LinkOperator gives an operator another link, in the place of one that was not
	// used. It returns an [Error] with [CodeNotFound].
	LinkOperator(ctx context.Context, by Actor, name OperatorName, link TokenHash) (Operator, error)
	// EachOperator calls fn for every operator, by name, and stops at the first error
	// that fn returns.
	EachOperator(ctx context.Context, fn func(Operator) error) error
	// RemoveOperator removes an operator, and ends their sessions and link at once. It
	// returns an [Error] with [CodeNotFound].
	RemoveOperator(ctx context.Context, by Actor, name OperatorName) error
}
