package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"

	"petcat"
)

// Page is a part of the list, cut out of its bytes.
type Page struct {
	Parts [][]byte // the body, in order: a JSON array
	// Next is the id after which the list continues, 0 if it ends with this page.
	Next petcat.CategoryID
}

// ETag returns a strong validator of the page: a hash of its bytes, so that a page does
// not change with the list behind it.
func (p Page) ETag() string { return contentTag(p.Parts...) }

// Category returns the JSON object of a category, and its strong validator. It reports
// whether the list has the category.
func (s *Snapshot) Category(id petcat.CategoryID) (object []byte, etag string, found bool) {
	at := s.behind(id - 1)
	if at > len(s.sealed) {
		return nil, "", false
	}
	e := s.stretch(at)
	i, found := e.find(id)
	if !found {
		return nil, "", false
	}
	object = e.object(i)
	return object, CategoryETag(object), true
}

// CategoryETag returns the strong validator of a category, given its JSON object.
func CategoryETag(object []byte) string { return contentTag(object) }

// Page returns the first categories after an id, at most limit of them.
func (s *Snapshot) Page(after petcat.CategoryID, limit int) Page {
	var p Page
	at := s.behind(after)
	if at > len(s.sealed) || limit < 1 {
		p.Parts = [][]byte{[]byte("[]")}
		return p
	}
	p.Parts = append(p.Parts, []byte("["))
	e := s.stretch(at)
	i, found := e.find(after)
	if found {
		i++
	}
	for begin := e.starts[i]; ; begin = 0 { // what is behind the first stretch begins with its comma
		n := min(limit, e.count()-i)
		end := e.end(i + n - 1)
		p.Parts = append(p.Parts, e.data[begin:end:end])
		limit -= n
		i += n
		if limit == 0 || at == len(s.sealed) || s.stretch(at+1).count() == 0 {
			break
		}
		at++
		e, i = s.stretch(at), 0
	}
	if i < e.count() || at < len(s.sealed) && s.stretch(at+1).count() > 0 {
		p.Next = e.id(i - 1)
	}
	p.Parts = append(p.Parts, []byte("]"))
	return p
}

// stretch returns the elements of a block, or behind the last one the open elements.
func (s *Snapshot) stretch(at int) elements {
	if at < len(s.sealed) {
		return s.sealed[at].elements
	}
	return s.open
}

// behind returns the first stretch that holds a larger id, or one more than the number
// of blocks if none does.
func (s *Snapshot) behind(id petcat.CategoryID) int {
	at := sort.Search(len(s.sealed), func(i int) bool { return s.sealed[i].last() > id })
	if at == len(s.sealed) && (s.open.count() == 0 || s.open.last() <= id) {
		at++
	}
	return at
}

// contentTag returns an entity tag that follows from a representation's bytes alone.
func contentTag(parts ...[]byte) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(part)
	}
	var sum [sha256.Size]byte
	return `"` + hex.EncodeToString(h.Sum(sum[:0])[:16]) + `"`
}
