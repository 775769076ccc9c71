package config

import (
	"errors"
	"fmt"
)

// Error says that a setting, or a file or server that it names, cannot be used: the same
// command would fail again. Its text is one sentence that names the setting and says what
// to do.
type Error struct {
	text  string
	cause error
}

// Errorf makes an [Error] like [fmt.Errorf]; format may contain %w.
func Errorf(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{text: err.Error(), cause: errors.Unwrap(err)}
}

func (e *Error) Error() string { return e.text }
func (e *Error) Unwrap() error { return e.cause }
