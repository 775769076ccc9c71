package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/groupcommit"
)

// TestSubmitError: errors of the write queue say whether the write may have happened.
func TestSubmitError(t *testing.T) {
	for _, c := range []struct {
		name    string
		err     error
		unknown bool
	}{
		{"full", groupcommit.ErrFull, false},
		{"closed", groupcommit.ErrClosed, false},
		{"abandoned", fmt.Errorf("%w: %w", groupcommit.ErrAbandoned, context.Canceled), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := SubmitError(c.err)
			if petcat.CodeOf(got) != petcat.CodeServiceUnavailable {
				t.Errorf("got the code %s, want service_unavailable", petcat.CodeOf(got))
			}
			if errors.Is(got, petcat.ErrOutcomeUnknown) != c.unknown || !errors.Is(got, c.err) {
				t.Errorf("got %v", got)
			}
		})
	}
	failure := errors.New("disk full")
	if got := SubmitError(failure); !errors.Is(got, failure) || petcat.CodeOf(got) == petcat.CodeServiceUnavailable {
		t.Errorf("an error of a commit was translated to %v", got)
	}
	if SubmitError(nil) != nil {
		t.Error("success became an error")
	}
}
