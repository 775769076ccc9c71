package sqlite

import (
	"context"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clock"
	"github.com/petcat-api/petcat/internal/store"
)

// readOnly is a DB without writes.
type readOnly struct {
	*DB
	t *testing.T
}

func (r readOnly) Begin(context.Context, store.Work) (*store.Tx, error) {
	r.t.Error("a transaction began")
	return nil, petcat.Errorf(petcat.CodeServiceUnavailable, "read-only")
}

// TestInvalidLinkDoesNotWrite: a client that sends invalid links does not delay writes.
func TestInvalidLinkDoesNotWrite(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	reading := store.New(readOnly{s.DB, t}, clock.NewSystem())
	_, err := reading.SignIn(t.Context(), petcat.AccountRealm, petcat.TokenHash{1}, petcat.TokenHash{2})
	if petcat.CodeOf(err) != petcat.CodeNotFound {
		t.Errorf("got %v, want that the link is invalid", err)
	}
}
