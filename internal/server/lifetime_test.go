package server

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestClose: all parts are closed, the last one first, and the errors of all are returned.
func TestClose(t *testing.T) {
	l := newLifetime(t.Context())
	first, second := errors.New("first"), errors.New("second")
	var closed []error
	for _, err := range []error{first, nil, second} {
		l.onClose(func(context.Context) error {
			closed = append(closed, err)
			return err
		})
	}
	if err := l.close(t.Context()); !errors.Is(err, first) || !errors.Is(err, second) {
		t.Errorf("got %v, want the errors of both", err)
	}
	if want := []error{second, nil, first}; !slices.Equal(closed, want) {
		t.Errorf("closed %v, want %v", closed, want)
	}
}
