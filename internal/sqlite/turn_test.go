package sqlite

import (
	"context"
	"errors"
	"testing"

	"petcat"
	"petcat/internal/store"
)

// TestLeftTurn: a change whose caller leaves before its turn is certainly not made, and the others go
// on.
func TestLeftTurn(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	first, err := s.Begin(t.Context(), store.Work{Doing: "first"})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Rollback()
	left, leave := context.WithCancel(t.Context())
	leave()
	_, err = s.Begin(left, store.Work{Doing: "left"})
	if petcat.CodeOf(err) != petcat.CodeServiceUnavailable || errors.Is(err, petcat.ErrOutcomeUnknown) {
		t.Errorf("the caller that left: %v", err)
	}
	if _, err := first.Exec(`UPDATE counter SET category_id = category_id`); err != nil {
		t.Fatal(err)
	}
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := first.Commit(); err == nil {
		t.Error("a second commit succeeded")
	}
	create(t, s, "Dogs")
}

// TestPanicReturnsTurn: an operation that panics returns the connection.
func TestPanicReturnsTurn(t *testing.T) {
	s := openAt(t, t.TempDir(), Options{})
	defer closeNow(t, s)
	func() {
		defer func() { _ = recover() }()
		_ = s.Change(t.Context(), "panic", func(*store.Tx) error { panic("a bug") })
	}()
	create(t, s, "Dogs")
}
