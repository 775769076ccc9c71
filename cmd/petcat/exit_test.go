package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/petcat-api/petcat"
)

// TestErrors checks exit codes and error messages.
func TestErrors(t *testing.T) {
	cause := errors.New("disk I/O error")
	unknown := petcat.Errorf(petcat.CodeServiceUnavailable,
		"retry").WithCause(fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, cause))
	gone := petcat.Errorf(petcat.CodeNotFound, "there is no account 7")
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{fmt.Errorf("open: %w", cause), exitFailed, "open: disk I/O error"},
		{
			fmt.Errorf("create: %w", petcat.Errorf(petcat.CodeInvalidField, "the name is taken")), exitFailed,
			"the name is taken",
		},
		{
			petcat.Errorf(petcat.CodeServiceUnavailable, "try later").WithCause(cause), exitTryLater,
			"try later: disk I/O error",
		},
		{fmt.Errorf("wrapped: %w", usageErrorf("bad %d", 7)), exitUsage, "bad 7"},
		{fmt.Errorf("read: %w", context.Canceled), exitInterrupted, "interrupted"},
		{
			unknown, exitFailed,
			"the outcome is unknown: disk I/O error; the change may have been made: check that before you run the command again",
		},
		{notFound(gone, "account"), exitFailed, "there is no account 7; list them with: petcat account list"},
		{notFound(cause, "account"), exitFailed, "disk I/O error"},
		{
			&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}, exitTryLater,
			"listen: bind: address already in use",
		},
		{
			&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}, exitConfig,
			"listen: bind: permission denied",
		},
		{
			written(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), exitTryLater,
			"stdout cannot be written: no space left on device; free some space",
		},

		{petcat.TemporarilyUnusablef(cause, "it is in use"), exitTryLater, "it is in use"},
		{petcat.Unusablef(cause, "check the address"), exitConfig, "check the address"},
	} {
		if code, got := exitCode(c.err), explain(c.err); code != c.code || got != c.want {
			t.Errorf("%v: exit code %d, %q; want %d, %q", c.err, code, got, c.code, c.want)
		}
	}
}
