package sqlite

import "fmt"

// Kind says why a database cannot be used.
type Kind string

// The kinds.
const (
	Foreign          Kind = "foreign"           // a database, but of another program
	Damaged          Kind = "damaged"           // not a database, or no longer one
	OlderSchema      Kind = "older_schema"      // made by an older petcat, and not to be changed
	NewerSchema      Kind = "newer_schema"      // made by a newer petcat
	OtherEnvironment Kind = "other_environment" // production data under staging, or the other way round
	Unwritable       Kind = "unwritable"        // the file cannot be written
	Locked           Kind = "locked"            // another process keeps it locked; trying again may help
	NoRoom           Kind = "no_room"           // the disk is full; trying again may help
	Failing          Kind = "failing"           // the disk does not work; trying again may help
	Unsafe           Kind = "unsafe"            // it would not be as durable as promised
)

// OpenError says that a database cannot be used.
type OpenError struct {
	Kind Kind
	// Message is one sentence that names the remedy.
	Message string
	cause   error
}

func openErrorf(kind Kind, cause error, format string, args ...any) *OpenError {
	return &OpenError{Kind: kind, Message: fmt.Sprintf(format, args...), cause: cause}
}

// Temporary reports whether the same database may be of use later, without
// anything being changed about it.
func (e *OpenError) Temporary() bool {
	return e.Kind == Locked || e.Kind == NoRoom || e.Kind == Failing
}

// Error returns the message.
func (e *OpenError) Error() string { return e.Message }

// Unwrap returns what SQLite said, if it did.
func (e *OpenError) Unwrap() error { return e.cause }
