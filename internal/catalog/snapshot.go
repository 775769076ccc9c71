package catalog

import (
	"slices"
	"strconv"
	"sync"

	"petcat"
)

// Snapshot is the list as of one revision. It never changes.
type Snapshot struct {
	etags    [encodings]string
	revision petcat.Revision
	count    int64
	size     int64
	sealed   []*block
	open     elements

	representations [encodings]struct {
		once  sync.Once
		value *Representation
	}
	last struct {
		once  sync.Once
		value []byte
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

// Revision returns the revision of the last change of the list, 0 when there was none.
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
func (s *Snapshot) ETags() []string { return s.etags[:] }

// newETags returns the validators of a revision of the list.
func newETags(dataset string, revision petcat.Revision) (etags [encodings]string) {
	for e := range etags {
		etags[e] = `"` + dataset + "-" + strconv.FormatInt(int64(revision), 10) + Encoding(e).suffix() + `"`
	}
	return etags
}

// tail returns the open block and the end of the list, in one piece, so that a
// short list is written at once.
func (s *Snapshot) tail() []byte {
	s.last.once.Do(func() {
		if s.count == 0 {
			s.last.value = []byte("[]")
			return
		}
		s.last.value = slices.Concat(s.open.data, []byte("]"))
	})
	return s.last.value
}

// parts returns the body in an encoding.
func (s *Snapshot) parts(e Encoding) [][]byte {
	var parts [][]byte
	switch e {
	case Gzip:
		parts = append(parts, gzipHeader)
		for _, b := range s.sealed {
			parts = append(parts, b.deflated())
		}
		return append(parts, gzipEnd(s.sealed, s.tail()))
	case Zstd:
		for _, b := range s.sealed {
			parts = append(parts, b.zstandard())
		}
		return append(parts, compressZstd(s.tail()))
	default:
		for _, b := range s.sealed {
			parts = append(parts, b.data)
		}
		return append(parts, s.tail())
	}
}
