package petcat

import (
	"context"
	"fmt"
	"regexp"
	"time"
)

// OperatorName is the unique, lower-case name of a person who uses the console. The audit log
// shows it.
type OperatorName string

// operatorPrefix precedes the names of operators in the audit log.
const operatorPrefix = "operator "

// String returns the form that the audit log shows, such as "operator ada".
func (n OperatorName) String() string { return operatorPrefix + string(n) }

// Actor returns the operator as an actor.
func (n OperatorName) Actor() Actor { return Actor(n.String()) }

// MaxOperatorName is the maximum length of an operator's name, in characters.
const MaxOperatorName = 64

// ParseOperatorName validates a name: letters from a to z, digits and, after the first
// character, also . _ - @. It returns an [Error] with [CodeInvalidField].
func ParseOperatorName(s string) (OperatorName, error) {
	if !operatorNameForm.MatchString(s) {
		return "", Errorf(CodeInvalidField,
			"an operator's name has 1 to %d characters: a-z, 0-9, and after the first one also . _ - @ (got %.100q)",
			MaxOperatorName, s)
	}
	return OperatorName(s), nil
}

var operatorNameForm = regexp.MustCompile(fmt.Sprintf(`^[a-z0-9][a-z0-9._@-]{0,%d}$`, MaxOperatorName-1))

// Role is the set of an operator's or a token's permissions.
type Role string

// The roles.
const (
	RoleAdmin  Role = "admin"  // may see and change everything
	RoleViewer Role = "viewer" // may see everything
)

// Changes reports whether the role may change anything.
func (r Role) Changes() bool { return r == RoleAdmin }

// ParseRole returns an [Error] with [CodeInvalidField] for an unknown role.
func ParseRole(s string) (Role, error) {
	if r := Role(s); r == RoleAdmin || r == RoleViewer {
		return r, nil
	}
	return "", Errorf(CodeInvalidField, "a role must be admin or viewer (got %.100q)", s)
}

// Operator is a person who may use the console.
type Operator struct {
	Name          OperatorName
	Role          Role
	CreatedAt     time.Time
	LinkExpiresAt time.Time // expiry of the operator's link; zero without one
	Sessions      int64     // number of open sessions
}

// OperatorStore keeps operators. Every change commits together with its audit entry.
type OperatorStore interface {
	// CreateOperator creates an operator with a sign-in link, which expires after [LinkLife]; the zero
	// link means none. It returns an [Error] with [CodeConflict] if the name is taken.
	CreateOperator(
		ctx context.Context,
		by Author,
		name OperatorName,
		role Role,
		link TokenHash,
	) (Result[Operator], error)
	// Operators returns all operators by name.
	Operators(ctx context.Context) ([]Operator, error)
	// RemoveOperator removes an operator with their sessions and link. It returns the name, or an
	// [Error] with [CodeNotFound].
	RemoveOperator(ctx context.Context, by Author, name OperatorName) (Result[OperatorName], error)
}
