package postgres

import "fmt"

// Kind says why a database cannot be used.
type Kind string

// The kinds.
const (
	BadAddress       Kind = "bad_address"       // the URL cannot be read
	Unreachable      Kind = "unreachable"       // no answer, or no room; trying again may help
	Refused          Kind = "refused"           // wrong password, no such database or role, or a right is missing
	Foreign          Kind = "foreign"           // tables of another program have our names
	Damaged          Kind = "damaged"           // the server found broken data
	NoData           Kind = "no_data"           // nothing of petcat's is in it, and nothing is to be made
	OlderSchema      Kind = "older_schema"      // made by an older petcat, and not to be changed
	NewerSchema      Kind = "newer_schema"      // made by a newer petcat
	OtherEnvironment Kind = "other_environment" // production data under staging, or the other way round
	Unwritable       Kind = "unwritable"        // a standby, or read-only
	Unsafe           Kind = "unsafe"            // it would not be as durable or as exact as promised
	Unsupported      Kind = "unsupported"       // a version or an encoding that is not supported
)

// OpenError says that a database cannot be used.
type OpenError struct {
	Kind Kind
	// Message is one sentence that names the remedy. It holds no password.
	Message string
	cause   error
}

func openErrorf(kind Kind, cause error, format string, args ...any) *OpenError {
	return &OpenError{Kind: kind, Message: fmt.Sprintf(format, args...), cause: cause}
}

// Error returns the message.
func (e *OpenError) Error() string { return e.Message }

// Unwrap returns what the server said, if it did.
func (e *OpenError) Unwrap() error { return e.cause }

// Temporary reports whether trying again may help.
func (e *OpenError) Temporary() bool { return e.Kind == Unreachable }
