package catalog

import (
	"strconv"
	"sync"
	"sync/atomic"
)

// Snapshot is the list at one revision. It is immutable.
type Snapshot struct {
	list

	dataset string
	etags   [encodings]string
	tail    func() []byte
	asked   *asked
	readers *readers

	making          [encodings]sync.Mutex                     // locked while a representation is made
	representations [encodings]atomic.Pointer[Representation] // nil until requested
}

// asked has the encodings that were asked for since [Catalog.Release].
type asked [encodings]atomic.Bool

func newSnapshot(dataset string, l list, a *asked, r *readers) *Snapshot {
	s := &Snapshot{
		list:    l,
		dataset: dataset,
		asked:   a,
		readers: r,
	}
	s.tail = sync.OnceValue(s.makeTail)
	for e := range encodings {
		s.etags[e] = `"` + s.name(l.revision) + Encoding(e).suffix() + `"`
	}
	return s
}

// Representation is a snapshot in one encoding. The header values are shared between responses: do
// not change them.
type Representation struct {
	Parts           [][]byte // the body, in order
	ETag            []string
	ContentLength   []string
	ContentEncoding []string // nil for Identity
}

// Count returns the number of categories.
func (s *Snapshot) Count() int64 { return s.count }

// Representation returns the list in an encoding. The first call for each encoding computes it; of
// a long list, usually only the last block.
func (s *Snapshot) Representation(e Encoding) *Representation {
	if !s.asked[e].Load() {
		s.asked[e].Store(true)
	}
	if r := s.representations[e].Load(); r != nil {
		return r
	}
	s.making[e].Lock()
	defer s.making[e].Unlock()
	r := s.representations[e].Load()
	if r == nil {
		r = s.represent(e)
		s.representations[e].Store(r)
	}
	return r
}

// release frees the list in an encoding.
func (s *Snapshot) release(e Encoding) {
	s.representations[e].Store(nil)
	for _, b := range s.sealed {
		b.release(e)
	}
}

func (s *Snapshot) represent(e Encoding) *Representation {
	r := &Representation{Parts: s.parts(e), ContentEncoding: e.header(), ETag: []string{s.etags[e]}}
	size := 0
	for _, part := range r.Parts {
		size += len(part)
	}
	r.ContentLength = []string{strconv.Itoa(size)}
	return r
}

// ETags returns the strong validators by encoding. Do not change them.
func (s *Snapshot) ETags() []string { return s.etags[:] }

// makeTail returns the open elements and the end of the list, or a whole list without blocks, so
// that it takes one write.
func (s *Snapshot) makeTail() []byte {
	var tail []byte
	if len(s.sealed) == 0 {
		tail = append(tail, begin...)
	}
	if s.count == 0 {
		return append(tail, ']')
	}
	tail = append(tail, s.open.data...)
	tail[len(tail)-1] = ']' // replaces the last comma
	return tail
}

// begin comes before the first block.
const begin = "["

// parts returns the body in an encoding.
func (s *Snapshot) parts(e Encoding) (parts [][]byte) {
	if e == Gzip {
		parts = append(parts, gzipHeader)
	}
	if len(s.sealed) > 0 {
		parts = append(parts, e.piece([]byte(begin)))
	}
	for _, b := range s.sealed {
		parts = append(parts, b.encoded(e))
	}
	if e == Gzip {
		return append(parts, gzipEnd(s.sealed, s.tail()))
	}
	return append(parts, e.piece(s.tail()))
}
