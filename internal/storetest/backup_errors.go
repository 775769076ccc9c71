package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"petcat/internal/backup"
)

// failing is a sink, or the rest of a file, that ends with an error.
type failing struct {
	after int
	err   error
}

func (f *failing) Begin(backup.Header) error { return nil }

func (f *failing) Row(backup.Kind, []any) error {
	if f.after--; f.after < 0 {
		return f.err
	}
	return nil
}

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// testBackupErrors: an error of the file or of the caller passes as it is.
func testBackupErrors(t *testing.T, open Open) {
	h := furnish(t, open)
	enough := errors.New("enough")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	slow := beside(t, h)
	for name, from := range map[string]backup.Source{"at once": h, "beside requests": slow} {
		for after := range 3 {
			if err := from.Backup(t.Context(), &failing{after: after, err: enough}); !errors.Is(err, enough) {
				t.Errorf("%s, a sink that fails after %d rows: %v", name, after, err)
			}
		}
		if err := from.Backup(gone, &failing{after: 1 << 20}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, without a caller: %v", name, err)
		}
	}
	slow.rest = func() error { return enough }
	if err := slow.Backup(t.Context(), &failing{after: 1 << 20}); !errors.Is(err, enough) {
		t.Errorf("a rest that fails: %v", err)
	}
	file := take(t, h)
	to := start(t, open)
	for _, at := range []int{len(file) - 40, len(file) - 1} {
		r, err := backup.NewReader(io.MultiReader(bytes.NewReader(file[:at]), &failing{err: enough}))
		if err == nil {
			err = to.Restore(t.Context(), operator, r)
		}
		if !errors.Is(err, enough) {
			t.Errorf("a file that cannot be read after %d bytes: %v", at, err)
		}
	}
	if err := to.Restore(gone, operator, read(t, file)); !errors.Is(err, context.Canceled) {
		t.Errorf("without a caller: %v", err)
	}
	if err := restore(t, to, file); err != nil {
		t.Errorf("after all that: %v", err)
	}
}
