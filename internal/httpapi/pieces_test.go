package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// deadlineWriter records how many bytes are written under each write deadline.
type deadlineWriter struct {
	http.ResponseWriter

	written []int
}

func (w *deadlineWriter) SetWriteDeadline(time.Time) error {
	w.written = append(w.written, 0)
	return nil
}

func (w *deadlineWriter) Write(b []byte) (int, error) {
	w.written[len(w.written)-1] += len(b)
	return len(b), nil
}

// TestPiecesHaveTheirOwnTime shows that no deadline covers more than a piece: a reader that
// takes a piece in each pieceTimeout gets the whole body.
func TestPiecesHaveTheirOwnTime(t *testing.T) {
	for name, size := range map[string]int{"one part": 4 << 20, "blocks": 128 << 10, "odd blocks": 300_000} {
		t.Run(name, func(t *testing.T) {
			var parts [][]byte
			for range (4 << 20) / size {
				parts = append(parts, make([]byte, size))
			}
			w := &deadlineWriter{ResponseWriter: httptest.NewRecorder()}
			e := &exchange{w: w}
			e.sendPieces(parts)
			total := 0
			for i, n := range w.written {
				if total += n; n > pieceSize {
					t.Errorf("deadline %d covers %d bytes, more than %d", i, n, pieceSize)
				}
			}
			if want := (4 << 20) / size * size; total != want || e.Bytes != int64(want) {
				t.Errorf("%d bytes were written and %d recorded, want %d", total, e.Bytes, want)
			}
		})
	}
}
