// Package openerror says why data cannot be used: one error for the data
// directory, SQLite and PostgreSQL. It knows none of them; each says what was found
// and what to do about it. Whether trying again may help follows from the kind. Which
// commands and flags may help is the command line's to say.
package openerror

import "fmt"

// Kind says what is wrong with where the data is kept.
type Kind string

// The kinds.
const (
	BadAddress       Kind = "bad_address"       // the URL of the database cannot be read
	Unreachable      Kind = "unreachable"       // the server gives no answer, or has no room; trying again may help
	Refused          Kind = "refused"           // wrong password, no such database or role, or a right is missing
	Foreign          Kind = "foreign"           // a database, or tables, of another program
	Damaged          Kind = "damaged"           // not a database, or no longer one
	NoData           Kind = "no_data"           // nothing of petcat's is in it, and nothing is to be made
	NotEmpty         Kind = "not_empty"         // there is data already, where a restore wants none
	NewerSchema      Kind = "newer_schema"      // a backup that a newer petcat made
	OtherEnvironment Kind = "other_environment" // production data under staging, or the other way round
	Unwritable       Kind = "unwritable"        // read-only, a standby, or a right is missing
	InUse            Kind = "in_use"            // another server has it; trying again may help
	Locked           Kind = "locked"            // another process keeps it locked; trying again may help
	NoRoom           Kind = "no_room"           // the disk is full; trying again may help
	Failing          Kind = "failing"           // the disk does not work; trying again may help
	Unsafe           Kind = "unsafe"            // it would not be as durable or as exact as promised
	Unsupported      Kind = "unsupported"       // a version or an encoding that is not supported
)

// Error says that data cannot be used.
type Error struct {
	Kind Kind
	// Message is one sentence that says what is wrong, and what to do about it apart from
	// the command line. It holds no password.
	Message string
	// Replaceable says that another data directory would do instead of this one.
	Replaceable bool
	cause       error
}

// Errorf returns an Error; cause is what the system or the database said, nil if
// it said nothing.
func Errorf(kind Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), cause: cause}
}

// Replaceablef is Errorf for a data directory that another one could replace.
func Replaceablef(kind Kind, cause error, format string, args ...any) *Error {
	e := Errorf(kind, cause, format, args...)
	e.Replaceable = true
	return e
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Temporary reports whether the same data may be of use later, without anything
// being changed about it.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case Unreachable, InUse, Locked, NoRoom, Failing:
		return true
	default:
		return false
	}
}
