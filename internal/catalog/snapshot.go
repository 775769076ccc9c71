package catalog

import (
	"strconv"
	"sync"

	"petcat"
)

// Snapshot is the list as of one revision. It never changes.
type Snapshot struct {
	dataset  string
	revision petcat.Revision
	count    int64
	size     int64
	sealed   []*block
	extents  [][]byte // the bytes of sealed
	open     []byte

	representations [encodings]struct {
		once  sync.Once
		value *Representation
	}
	last struct {
		once  sync.Once
		value []byte
	}
	validators struct {
		once  sync.Once
		value [encodings]string
	}
}

// Representation is a snapshot as it goes over the wire in one encoding. The
// header values are ready to be put into an http.Header; nobody may change
// them.
type Representation struct {
	Parts           [][]byte // the body, in order
	Size            int64    // of all parts, in bytes
	ETag            []string
	ContentLength   []string
	ContentEncoding []string // nil for Identity
}

// Revision returns the revision of the last category in the list, 0 when it is
// empty.
func (s *Snapshot) Revision() petcat.Revision { return s.revision }

// Count returns the number of categories.
func (s *Snapshot) Count() int64 { return s.count }

// Size returns the bytes of the list as JSON.
func (s *Snapshot) Size() int64 {
	if s.count == 0 {
		return int64(len("[]"))
	}
	return s.size + int64(len("]"))
}

// Representation returns the list in an encoding. The first caller of each
// encoding does the work for all others; of a long list, that work is the last
// block alone.
func (s *Snapshot) Representation(e Encoding) *Representation {
	slot := &s.representations[e]
	slot.once.Do(func() {
		r := &Representation{Parts: s.parts(e), ContentEncoding: e.header()}
		for _, part := range r.Parts {
			r.Size += int64(len(part))
		}
		r.ETag = []string{s.ETags()[e]}
		r.ContentLength = []string{strconv.FormatInt(r.Size, 10)}
		slot.value = r
	})
	return slot.value
}

// ETags returns the strong validators by encoding: two bodies with the same one
// are equal byte for byte. Nobody may change them.
func (s *Snapshot) ETags() []string {
	v := &s.validators
	v.once.Do(func() {
		for e := range v.value {
			v.value[e] = `"` + s.dataset + "-" + strconv.FormatInt(int64(s.revision), 10) + Encoding(e).suffix() + `"`
		}
	})
	return v.value[:]
}

// tail returns the open block and the end of the list, in one piece, so that a
// short list is written at once.
func (s *Snapshot) tail() []byte {
	s.last.once.Do(func() {
		if s.count == 0 {
			s.last.value = []byte("[]")
			return
		}
		s.last.value = append(append(make([]byte, 0, len(s.open)+1), s.open...), ']')
	})
	return s.last.value
}

// parts returns the body in an encoding.
func (s *Snapshot) parts(e Encoding) [][]byte {
	var parts [][]byte
	switch e {
	case Gzip:
		parts = append(parts, gzipHeader)
		var before *block
		for _, b := range s.sealed {
			parts = append(parts, b.deflated())
			before = b
		}
		return append(parts, gzipEnd(before, s.tail()))
	case Zstd:
		for _, b := range s.sealed {
			parts = append(parts, b.zstandard())
		}
		return append(parts, compressZstd(s.tail()))
	default:
		return append(append(parts, s.extents...), s.tail())
	}
}
