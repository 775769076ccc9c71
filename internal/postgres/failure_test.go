package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/petcat-api/petcat"
)

func TestSeverity(t *testing.T) {
	state := func(code string) error { return &pgconn.PgError{Code: code, SeverityUnlocalized: "ERROR"} }
	fatal := func(code string) error { return &pgconn.PgError{Code: code, SeverityUnlocalized: "FATAL"} }
	for _, tt := range []struct {
		name string
		err  error
		want severity
		code petcat.Code // in the response
	}{
		{"unique violation", state("23505"), statement, petcat.CodeInternalError},
		{"syntax error", state("42601"), statement, petcat.CodeInternalError},
		{"damaged data", state("XX001"), statement, petcat.CodeInternalError},
		{"no state", state(""), statement, petcat.CodeInternalError},
		{"scan error", errors.New("cannot scan"), statement, petcat.CodeInternalError},
		{"deadlock", state("40P01"), temporary, petcat.CodeServiceUnavailable},
		{"serialization failure", state("40001"), temporary, petcat.CodeServiceUnavailable},
		{"lock timeout", state("55P03"), temporary, petcat.CodeServiceUnavailable},
		{"statement timeout", state("57014"), temporary, petcat.CodeServiceUnavailable},
		{"disk full", state("53100"), temporary, petcat.CodeServiceUnavailable},
		{"out of memory", state("53200"), temporary, petcat.CodeServiceUnavailable},
		{"read-only after a failover", state("25006"), temporary, petcat.CodeServiceUnavailable},
		{"input or output error", state("58030"), temporary, petcat.CodeServiceUnavailable},
		{"prepared statement of another connection", state("26000"), temporary, petcat.CodeServiceUnavailable},
		{"cached plan", state("0A000"), temporary, petcat.CodeServiceUnavailable},
		{"shutting down", fatal("57P01"), lost, petcat.CodeServiceUnavailable},
		{"idle in transaction for long", fatal("25P03"), lost, petcat.CodeServiceUnavailable},
		{"statement error on a lost connection", &connError{state("23505"), lost}, statement, petcat.CodeInternalError},
		{"connection lost", &connError{io.ErrUnexpectedEOF, lost}, lost, petcat.CodeServiceUnavailable},
		{"wrapped", fmt.Errorf("commit: %w", &connError{io.EOF, lost}), lost, petcat.CodeServiceUnavailable},
		{"too many connections", new(pgconn.ConnectError), unreachable, petcat.CodeServiceUnavailable},
		{"no connection", &connError{io.EOF, unreachable}, unreachable, petcat.CodeServiceUnavailable},
		{"pool exhausted", &connError{errNoRoom, unreachable}, unreachable, petcat.CodeServiceUnavailable},
		{"domain error", petcat.Errorf(petcat.CodeNotFound, "no"), statement, petcat.CodeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, connect := errors.AsType[*pgconn.ConnectError](tt.err); connect {
				tt.err = &connError{io.EOF, unreachable} // its text needs an inner error
			}
			if got := severityOf(tt.err); got != tt.want {
				t.Errorf("severity %d, want %d", got, tt.want)
			}
			if got := petcat.CodeOf(translate(tt.err, "test")); got != tt.code {
				t.Errorf("code %s, want %s", got, tt.code)
			}
		})
	}
}

func TestTranslateKeepsErrorsForCallers(t *testing.T) {
	if err := translate(nil, "test"); err != nil {
		t.Errorf("nil is translated to %v", err)
	}
	if err := translate(context.Canceled, "test"); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancellation is translated to %v", err)
	}
	damaged, ok := errors.AsType[*petcat.UnusableError](translate(&pgconn.PgError{Code: "XX001"}, "test"))
	if !ok || !strings.Contains(damaged.Message, "is damaged") {
		t.Errorf("damage is translated to %v", damaged)
	}
}

// TestOnlyCallersCancel: only the cancellation of the caller's context is reported as one. Otherwise, a
// command would report that it was interrupted when the database does not respond.
func TestOnlyCallersCancel(t *testing.T) {
	stopped := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return ctx
	}
	failed := &pgconn.PgError{Code: "57014"}
	for _, tt := range []struct {
		name     string
		ctx      context.Context //nolint:containedctx // a table
		err      error
		is       []error
		canceled bool
	}{
		{"context alive", t.Context(), failed, []error{failed}, false},
		{"caller canceled", stopped(nil), fmt.Errorf("timeout: %w", context.Canceled), nil, true},
		{"timeout", stopped(errNoResponse), fmt.Errorf("timeout: %w", context.Canceled), []error{errNoResponse}, false},
		{"timeout with an error", stopped(errNoResponse), failed, []error{errNoResponse}, false},
		{
			"timeout of a commit", stopped(errNoResponse), &commitError{fmt.Errorf("timeout: %w", context.Canceled)},
			[]error{errNoResponse, petcat.ErrOutcomeUnknown}, false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := translate(&connError{withCause(tt.ctx, tt.err), lost}, "test")
			for _, want := range tt.is {
				if !errors.Is(err, want) {
					t.Errorf("%v is not %v", err, want)
				}
			}
			if got := errors.Is(err, context.Canceled); got != tt.canceled {
				t.Errorf("%v is a cancellation: %v, want %v", err, got, tt.canceled)
			}
		})
	}
}

// TestRejectedStarts: an error that a server returned is a configuration error, unless it is temporary.
func TestRejectedStarts(t *testing.T) {
	for state, temporary := range map[string]bool{
		"08P01": false, "28000": false, "28P01": false, "3D000": false, "42501": false, "42704": false, "99999": false,
		"53300": true, "53100": true, "57P01": true, "57P03": true, "55P03": true,
	} {
		err := explain(&pgconn.PgError{Code: state, SeverityUnlocalized: "FATAL", Message: "no"}, "db:5432/petcat")
		e, ok := errors.AsType[*petcat.UnusableError](err)
		complete := ok && strings.Contains(e.Message, "db:5432/petcat") && strings.Contains(e.Message, "; ")
		if !complete || e.Temporary != temporary {
			t.Errorf("%s: %v", state, err)
		}
	}
}
