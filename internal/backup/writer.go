package backup

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"

	"github.com/klauspost/compress/zstd"
)

// magic begins the first line of a file; the format's number ends it.
const magic = "petcat backup "

const (
	// windowSize bounds the memory of both ways. Larger windows find no more to
	// compress in rows that are alike.
	windowSize = 1 << 20
	// flushAt is how many bytes of rows are handed to the compressor at once.
	flushAt = 32 << 10
)

// Writer is a [Sink] that makes a file. Use [NewWriter]; Finish ends it.
type Writer struct {
	to      io.Writer
	program string
	sum     hash.Hash
	size    int64
	encoder *zstd.Encoder
	buffer  []byte
	kind    Kind // of the rows under way
	columns []Column
	header  Header
	rows    map[Kind]int64 // so far
}

// NewWriter returns a Writer to a stream. program is the version of petcat, for
// the header.
func NewWriter(to io.Writer, program string) *Writer {
	return &Writer{to: to, program: program, sum: sha256.New(), rows: make(map[Kind]int64)}
}

// hashed is the stream with everything but the sum itself passing through the
// sum.
type hashed struct{ w *Writer }

func (h hashed) Write(p []byte) (int, error) {
	n, err := h.w.to.Write(p)
	h.w.sum.Write(p[:n])
	h.w.size += int64(n)
	return n, err
}

// Begin implements [Sink].
func (w *Writer) Begin(h Header) error {
	h.Program = w.program
	w.header = h
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("backup: encode the header: %w", err)
	}
	if _, err := fmt.Fprintf(hashed{w}, "%s%d\n%s\n", magic, Format, text); err != nil {
		return err
	}
	w.encoder, err = zstd.NewWriter(hashed{w}, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(windowSize))
	return err
}

// Row implements [Sink].
func (w *Writer) Row(k Kind, values []any) error {
	if k != w.kind {
		if k < w.kind {
			return fmt.Errorf("backup: %s come before %s", k, w.kind)
		}
		w.kind, w.columns = k, k.Columns()
	}
	var err error
	if w.buffer, err = appendRow(w.buffer, k, w.columns, values); err != nil {
		return err
	}
	w.rows[k]++
	if len(w.buffer) < flushAt {
		return nil
	}
	return w.flush()
}

func (w *Writer) flush() error {
	_, err := w.encoder.Write(w.buffer)
	w.buffer = w.buffer[:0]
	return err
}

// Finish writes the end, and returns the header as it was written and the size of
// the file. Without it, the file counts as cut.
func (w *Writer) Finish() (h Header, size int64, err error) {
	told := maps.Clone(w.header.Rows)
	maps.DeleteFunc(told, func(_ Kind, n int64) bool { return n == 0 })
	if !maps.Equal(told, w.rows) {
		return Header{}, 0, fmt.Errorf("backup: the rows are %v, and the header says %v", w.rows, told)
	}
	w.buffer = append(w.buffer, 0)
	if err := w.flush(); err != nil {
		return Header{}, 0, err
	}
	if err := w.encoder.Close(); err != nil {
		return Header{}, 0, err
	}
	n, err := w.to.Write(w.sum.Sum(nil))
	return w.header, w.size + int64(n), err
}
