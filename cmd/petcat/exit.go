package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/datadir"
)

// The exit codes, on which scripts and supervisors rely. Codes from 65 to 78 are from sysexits.h: a
// supervisor may restart the program after 75, but not after 78.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitData     = 65 // EX_DATAERR: bad rows in a file
	exitTryLater = 75 // EX_TEMPFAIL: the data directory or port is in use, or a service is unavailable
	exitConfig   = 78 // EX_CONFIG: a setting is invalid, or refers to something unusable
	// exitInterrupted is the status that shells report for a program that Ctrl-C interrupted.
	exitInterrupted = 130
)

// failure is an error with an exit code. Its text is one sentence for the user with the remedy.
type failure struct {
	code  int
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// usageErrorf returns an error about invalid usage.
func usageErrorf(format string, args ...any) error {
	return &failure{code: exitUsage, text: fmt.Sprintf(format, args...)}
}

// tryLaterf returns an error for which a later retry may succeed. format may contain %w.
func tryLaterf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &failure{code: exitTryLater, text: err.Error(), cause: errors.Unwrap(err)}
}

// exitCode returns the exit code of an error. No other place decides it.
func exitCode(err error) int {
	f, failed := errors.AsType[*failure](err)
	e, unusable := errors.AsType[*petcat.UnusableError](err)
	switch {
	case err == nil:
		return exitDone
	case failed:
		return f.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, petcat.ErrOutcomeUnknown):
		return exitFailed
	case unusable && e.Temporary, errors.Is(err, syscall.EADDRINUSE), datadir.IsFull(err):
		return exitTryLater
	case unusable, errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS),
		errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.ENOTDIR):
		return exitConfig
	case petcat.CodeOf(err) == petcat.CodeServiceUnavailable:
		return exitTryLater
	default:
		return exitFailed
	}
}

// explain returns the message for the user.
func explain(err error) string {
	f, failed := errors.AsType[*failure](err)
	e, unusable := errors.AsType[*petcat.UnusableError](err)
	domain, isDomain := errors.AsType[*petcat.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case failed:
		return f.text
	case unusable:
		return e.Message
	case isDomain && errors.Is(err, petcat.ErrOutcomeUnknown):
		return fmt.Sprintf(
			"%v; the change may have been made: check that before you run the command again", domain.Unwrap())
	case isDomain && domain.Unwrap() != nil:
		// Unlike an API client, an operator may see the cause.
		return fmt.Sprintf("%s: %v", domain.Message, domain.Unwrap())
	case isDomain:
		return domain.Message
	case datadir.IsFull(err):
		return err.Error() + "; free some space"
	default:
		return err.Error()
	}
}

// notFound adds the command that lists the existing things to an error not_found.
func notFound(err error, things string) error {
	if _, done := errors.AsType[*failure](err); done || petcat.CodeOf(err) != petcat.CodeNotFound {
		return err
	}
	return &failure{code: exitFailed, text: explain(err) + "; list them with: petcat " + things + " list", cause: err}
}

// usage turns an error about the arguments into a usage error.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &failure{code: exitUsage, text: explain(err), cause: err}
}
