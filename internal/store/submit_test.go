package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"petcat"
	"petcat/internal/groupcommit"
)

// TestSubmitError: whoever asked for a write is told whether it may have happened.
func TestSubmitError(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		unknown bool
	}{
		{"full", groupcommit.ErrFull, false},
		{"closed", groupcommit.ErrClosed, false},
		{"stopped", fmt.Errorf("%w: %v", groupcommit.ErrStopped, petcat.ErrOutcomeUnknown), false}, //nolint:errorlint // of others
		{"abandoned", fmt.Errorf("%w: %w", groupcommit.ErrAbandoned, context.Canceled), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := SubmitError(c.err)
			if petcat.CodeOf(got) != petcat.CodeServiceUnavailable {
				t.Errorf("the code is %s", petcat.CodeOf(got))
			}
			if errors.Is(got, petcat.ErrOutcomeUnknown) != c.unknown || !errors.Is(got, c.err) {
				t.Errorf("got %v", got)
			}
		})
	}
	failure := errors.New("disk full")
	if got := SubmitError(failure); !errors.Is(got, failure) || petcat.CodeOf(got) == petcat.CodeServiceUnavailable {
		t.Errorf("an error of a commit became %v", got)
	}
	if SubmitError(nil) != nil {
		t.Error("success became an error")
	}
}
