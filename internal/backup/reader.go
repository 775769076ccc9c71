package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxLine is the longest line that is read, in bytes: a header has a few hundred.
const maxLine = 64 << 10

// Reader reads a file. Use [NewReader]; Close ends it.
type Reader struct {
	// Observe, when set, is called after every row that was read.
	Observe func()
	// Strict refuses, at the first of them, the faults that a [Checker] finds: a
	// store takes what it is given.
	Strict bool

	file    *summed
	header  Header
	decoder *zstd.Decoder
	from    *bufio.Reader
	kind    Kind // of the last row
	columns []Column
	format  int
	values  []any
	rows    map[Kind]int64 // so far
	order   order
	checker *Checker // when strict, once there was a row
	err     error    // after which there is no more
}

// NewReader reads the header of a file. It returns an [Error] for what is not a
// backup, and the stream's own errors.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{file: &summed{from: bufio.NewReaderSize(from, maxLine), sum: sha256.New()}, rows: make(map[Kind]int64)}
	plain := bufio.NewReaderSize(r.file, maxLine)
	if err := r.readHeader(plain); err != nil {
		return nil, err
	}
	var err error
	r.decoder, err = zstd.NewReader(plain, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowSize))
	if err != nil {
		return nil, r.failed(err)
	}
	r.from = bufio.NewReaderSize(r.decoder, maxLine)
	return r, nil
}

func (r *Reader) readHeader(from *bufio.Reader) error {
	foreign := &Error{Kind: Foreign, Message: "is not a backup of petcat"}
	first, err := from.Peek(len(magic))
	if r.file.err != nil {
		return r.file.err
	}
	if err != nil || string(first) != magic {
		return foreign
	}
	line, err := from.ReadSlice('\n')
	if err != nil {
		return r.failed(err)
	}
	format, err := strconv.Atoi(strings.TrimSpace(string(line[len(magic):])))
	switch {
	case err != nil || format < 1:
		return foreign
	case format > Format:
		return &Error{Kind: Newer, Message: fmt.Sprintf("was written by a newer petcat (its format is %d, this program knows %d); use that version or later", format, Format)}
	}
	r.format = format
	line, err = from.ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &r.header)
	}
	if err != nil {
		return r.failed(err)
	}
	return nil
}

// Header returns what the file says about itself. It is true only if Next finds
// the file whole.
func (r *Reader) Header() Header { return r.header }

// Next returns the next row; the values are valid until the next call, what they
// point to longer. It returns io.EOF when there are no more and the file was found
// whole, and otherwise an [Error] or the stream's error.
func (r *Reader) Next() (Kind, []any, error) {
	if r.err != nil {
		return 0, nil, r.err
	}
	k, err := r.next()
	if err != nil {
		r.err = err
		return 0, nil, err
	}
	if r.Observe != nil {
		r.Observe()
	}
	return k, r.values, nil
}

func (r *Reader) next() (Kind, error) {
	b, err := r.from.ReadByte()
	if err != nil {
		return 0, r.failed(err)
	}
	k := Kind(b)
	if k == 0 {
		return 0, r.end()
	}
	if k != r.kind {
		if r.columns = k.Columns(); r.columns == nil || k < r.kind {
			return 0, r.failed(fmt.Errorf("%s after %s", k, r.kind))
		}
		r.kind, r.values = k, make([]any, len(r.columns))
	}
	if err := readRow(r.from, r.format, r.columns, r.values); err != nil {
		return 0, r.failed(err)
	}
	if r.rows[k]++; r.rows[k] > r.header.Rows[k] {
		return 0, r.failed(fmt.Errorf("it has more %s than the %d that it should have", k, r.header.Rows[k]))
	}
	if fault := r.order.next(k, r.values); fault != "" {
		return 0, r.failed(errors.New(fault))
	}
	return k, r.check(k)
}

// check looks for faults in the last row, and before the first one in the header.
func (r *Reader) check(k Kind) error {
	if !r.Strict {
		return nil
	}
	if r.checker == nil {
		r.checker = &Checker{}
		if err := r.checker.Begin(r.header); err != nil {
			return err
		}
	}
	if k != 0 {
		if err := r.checker.Row(k, r.values); err != nil {
			return err
		}
	}
	found := r.checker.found()
	if faults := found.All(); len(faults) > 0 {
		return &Error{Kind: Faulty, Message: "has faults that a restore would keep (the first: " + faults[0] + "); use another copy"}
	}
	return nil
}

// end checks the file as a whole.
func (r *Reader) end() error {
	if _, err := r.from.ReadByte(); !errors.Is(err, io.EOF) {
		return r.failed(errors.New("it has data after its end"))
	}
	if !r.file.whole() {
		return r.failed(errors.New("its checksum does not match"))
	}
	for _, k := range Kinds() {
		if r.rows[k] != r.header.Rows[k] {
			return r.failed(fmt.Errorf("it has %d %s, and should have %d", r.rows[k], k, r.header.Rows[k]))
		}
	}
	if err := r.check(0); err != nil { // there may have been no rows
		return err
	}
	return io.EOF
}

// failed returns the error of the stream if there was one, otherwise an [Error].
func (r *Reader) failed(err error) error {
	switch {
	case r.file.err != nil:
		return r.file.err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return damagedf("it ends too early")
	default:
		return damagedf("%v", err)
	}
}

// Close lets go of the memory; the stream stays open.
func (r *Reader) Close() { r.decoder.Close() }

// RootCause returns the error to report when a store did not take a row: that of the file if
// the rest of it shows that it is damaged, otherwise the store's.
func (r *Reader) RootCause(err error) error {
	for r.err == nil {
		_, _, _ = r.Next()
	}
	if e, ok := errors.AsType[*Error](r.err); ok {
		return e
	}
	return err
}

// CopyTo hands everything to a sink. For a damaged file it returns the error of Next.
func (r *Reader) CopyTo(to Sink) error {
	if err := to.Begin(r.header); err != nil {
		return err
	}
	for {
		k, values, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = to.Row(k, values)
		}
		if err != nil {
			return err
		}
	}
}

// summed is a stream but for the checksum at its end, which it compares with that
// of everything before.
type summed struct {
	from *bufio.Reader
	sum  hash.Hash
	err  error // of the stream itself
}

// Read gives out what certainly is not yet the checksum.
func (s *summed) Read(p []byte) (int, error) {
	_, err := s.from.Peek(sha256.Size + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
		return 0, err
	}
	n := min(s.from.Buffered()-sha256.Size, len(p))
	if n <= 0 {
		return 0, io.EOF
	}
	n, err = s.from.Read(p[:n])
	s.sum.Write(p[:n])
	return n, err
}

// whole reports whether the stream was read up to its checksum, and that fits.
func (s *summed) whole() bool {
	end, err := io.ReadAll(s.from)
	return err == nil && bytes.Equal(end, s.sum.Sum(nil))
}
