package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"petcat"
	"petcat/internal/config"
	"petcat/internal/openerror"
	"petcat/internal/osfile"
)

// The exit codes, on which scripts and supervisors rely. Those from 65 to 78 are from
// sysexits.h: a supervisor may restart after 75, and should not after 78.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2
	exitData     = 65 // EX_DATAERR: rows of a file cannot be imported
	exitTryLater = 75 // EX_TEMPFAIL: the data directory or the port is in use, or a service does not answer now
	exitConfig   = 78 // EX_CONFIG: a setting, or what it points to, is not usable
	// exitInterrupted is the status that shells report for a program that Ctrl-C ended.
	exitInterrupted = 130
)

// failure is an error with its exit code. Its text is for the user: one sentence that
// says what to do.
type failure struct {
	code  int
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

// usageErrorf returns an error about what the user typed.
func usageErrorf(format string, args ...any) error {
	return &failure{code: exitUsage, text: fmt.Sprintf(format, args...)}
}

// tryLaterf returns an error about something that may work later. format may contain %w.
func tryLaterf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &failure{code: exitTryLater, text: err.Error(), cause: errors.Unwrap(err)}
}

// exitCode returns the exit code of an error. No other place decides it.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code
	}
	if _, ok := errors.AsType[*config.Error](err); ok {
		return exitConfig
	}
	if e, ok := errors.AsType[*openerror.Error](err); ok && e.Temporary() {
		return exitTryLater
	} else if ok {
		return exitConfig
	}
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, syscall.EADDRINUSE), osfile.IsFull(err):
		return exitTryLater
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS),
		errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.ENOTDIR):
		return exitConfig
	case petcat.CodeOf(err) == petcat.CodeServiceUnavailable:
		return exitTryLater
	default:
		return exitFailed
	}
}

// explain returns the sentence that the user sees.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f.text
	}
	if e, ok := errors.AsType[*config.Error](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*openerror.Error](err); ok {
		return e.Message + openHint(e)
	}
	e, ok := errors.AsType[*petcat.Error](err)
	switch {
	case !ok:
		return err.Error()
	case e.Unwrap() != nil:
		// Unlike a caller of the API, an operator may see the cause.
		return fmt.Sprintf("%s: %v", e.Message, e.Unwrap())
	default:
		return e.Message
	}
}

// openHint returns the end of the message of an [openerror.Error]: what the user can do.
func openHint(e *openerror.Error) string {
	switch {
	case e.Kind == openerror.OtherEnvironment:
		return "; choose other data with --data or --database, or start with the --environment of this data"
	case e.Kind == openerror.NoData:
		return ", or create a new deployment there with petcat serve or petcat init"
	case e.Replaceable && e.Kind == openerror.Foreign:
		return "; choose another directory with --data"
	case e.Replaceable:
		return ", or choose another directory with --data"
	default:
		return ""
	}
}

// notFound adds a hint to an error not_found: list names the command that lists what exists.
func notFound(err error, list string) error { return hinted(err, petcat.CodeNotFound, list) }

// hinted adds what to do to an error with this code. It returns other errors unchanged.
func hinted(err error, code petcat.Code, hint string) error {
	if petcat.CodeOf(err) != code {
		return err
	}
	return &failure{code: exitCode(err), text: explain(err) + "; " + hint, cause: err}
}

// unsure returns the error of a change. If the outcome is unknown, the error has the given
// exit code, and its text ends with format: what may have changed, and how to check.
func unsure(err error, code int, format string, args ...any) error {
	if !errors.Is(err, petcat.ErrOutcomeUnknown) {
		return err
	}
	if e, ok := errors.AsType[*petcat.Error](err); ok {
		err = e.Unwrap() // the message is for callers of the API
	}
	return &failure{code: code, text: fmt.Sprintf("%v; %s", err, fmt.Sprintf(format, args...)), cause: petcat.ErrOutcomeUnknown}
}

// usage turns an error of the domain about what the user typed into a usage error.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &failure{code: exitUsage, text: explain(err), cause: err}
}
