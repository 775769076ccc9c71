// Package openerror is the error for data that cannot be used: a data directory, a SQLite file
// or a PostgreSQL database.
package openerror

import "fmt"

// Error reports that data cannot be used.
type Error struct {
	// Message is one sentence for operators: what is wrong, and what to do. It contains no
	// password.
	Message string
	// Temporary is true if trying again later may help.
	Temporary bool
	cause     error
}

// Errorf returns an Error. Its cause is the error of the system or the database, or nil.
func Errorf(cause error, format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), cause: cause}
}

// Temporaryf is Errorf for a temporary error.
func Temporaryf(cause error, format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), Temporary: true, cause: cause}
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }
