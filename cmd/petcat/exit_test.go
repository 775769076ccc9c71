package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"petcat"
	"petcat/internal/config"
	"petcat/internal/openerror"
)

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"done", nil, exitDone},
		{"not found", petcat.Errorf(petcat.CodeNotFound, "no such account"), exitFailed},
		{"wrong use", fmt.Errorf("wrapped: %w", usageErrorf("bad")), exitUsage},
		{"bad setting", config.Errorf("bad"), exitConfig},
		{"data in use", openerror.Errorf(openerror.InUse, nil, "busy"), exitTryLater},
		{"in use", tryLaterf("busy: %w", errors.New("held")), exitTryLater},
		{"the store is away", petcat.Errorf(petcat.CodeServiceUnavailable, "away"), exitTryLater},
		{"perhaps created", unsure(fmt.Errorf("%w: no answer", petcat.ErrOutcomeUnknown), exitFailed, "look"), exitFailed},
		{"port taken", &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}, exitTryLater},
		{"port not allowed", &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}, exitConfig},
		{"disk full", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, exitTryLater},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := exitCode(c.err); got != c.want {
				t.Errorf("exitCode(%v) = %d; want %d", c.err, got, c.want)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	cause := errors.New("disk I/O error")
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"any error", fmt.Errorf("open: %w", cause), "open: disk I/O error"},
		{"domain", fmt.Errorf("create: %w", petcat.Errorf(petcat.CodeInvalidField, "the name is taken")), "the name is taken"},
		{"domain with cause", petcat.Errorf(petcat.CodeServiceUnavailable, "try later").WithCause(cause), "try later: disk I/O error"},
		{
			"perhaps changed", unsure(petcat.Errorf(petcat.CodeServiceUnavailable, "retry").WithCause(fmt.Errorf("%w: %w", petcat.ErrOutcomeUnknown, context.Canceled)), exitTryLater, "look at %d", 7),
			"the outcome is unknown: context canceled; look at 7",
		},
		{
			"not there", notFound(petcat.Errorf(petcat.CodeNotFound, "there is no account 7"), "list the accounts with: petcat account list"),
			"there is no account 7; list the accounts with: petcat account list",
		},
		{"another error than not there", notFound(cause, "list the accounts"), "disk I/O error"},
		{
			"a full disk", openerror.Replaceablef(openerror.NoRoom, cause, "it is full; free some space"),
			"it is full; free some space, or choose another directory with --data",
		},
		{"a full disk of a server", openerror.Errorf(openerror.NoRoom, cause, "it is full; free some space"), "it is full; free some space"},
		{
			"another program's file", openerror.Replaceablef(openerror.Foreign, nil, "it is another program's"),
			"it is another program's; choose another directory with --data",
		},
		{
			"an older schema", openerror.Errorf(openerror.OlderSchema, nil, "it is old; use the old version"),
			"it is old; use the old version, or migrate it with petcat serve or petcat migrate of this version",
		},
		{
			"no data", openerror.Errorf(openerror.NoData, nil, "nothing is there; check the address"),
			"nothing is there; check the address, or create a new deployment there with petcat serve or petcat init",
		},
		{
			"another environment", openerror.Errorf(openerror.OtherEnvironment, nil, "it is production"),
			"it is production; choose other data with --data or --database, or start with the --environment of this data",
		},
		{"ours", config.Errorf("cannot: %w", cause), "cannot: disk I/O error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := explain(c.err); got != c.want {
				t.Errorf("explain(%v) = %q; want %q", c.err, got, c.want)
			}
		})
	}
}
