package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/petcat-api/petcat"
)

// elements is a segment of the list: objects by id ascending, each with a comma after it.
type elements struct {
	data   []byte
	starts []uint32           // offset of each object in data
	owners []petcat.AccountID // the creator of each object
}

func (e elements) clone() elements {
	return elements{
		data:   slices.Clone(e.data),
		starts: slices.Clone(e.starts),
		owners: slices.Clone(e.owners),
	}
}

// start returns the offset of object i, or the end of the segment after the last object.
func (e elements) start(i int) int {
	if i < len(e.starts) {
		return int(e.starts[i])
	}
	return len(e.data)
}

// object returns object i, without the comma.
func (e elements) object(i int) []byte { return e.data[e.start(i) : e.start(i+1)-1] }

// id returns the id of object i, which comes first in the object: see [AppendCategory].
func (e elements) id(i int) petcat.CategoryID {
	var id petcat.CategoryID
	for _, digit := range e.data[e.start(i)+len(objectStart):] {
		if digit < '0' || digit > '9' {
			break
		}
		id = 10*id + petcat.CategoryID(digit-'0')
	}
	return id
}

// last returns the id of the last object, or 0.
func (e elements) last() petcat.CategoryID {
	if len(e.starts) == 0 {
		return 0
	}
	return e.id(len(e.starts) - 1)
}

// find returns the index of the object with an id, or of the first object with a larger id.
func (e elements) find(id petcat.CategoryID) (i int, found bool) {
	return sort.Find(len(e.starts), func(i int) int { return int(id - e.id(i)) })
}

// splice returns a copy with an owner's object inserted at index i, unless object is nil, and without
// the old object i if replace is true.
func (e elements) splice(i int, replace bool, object []byte, owner petcat.AccountID) elements {
	next := i
	if replace {
		next++
	}
	out := e.to(i).clone()
	if object != nil {
		out = out.concat(elements{append(object, ','), []uint32{0}, []petcat.AccountID{owner}})
	}
	return out.concat(e.from(next))
}

// to returns the elements before object i.
func (e elements) to(i int) elements {
	return elements{e.data[:e.start(i)], e.starts[:i], e.owners[:i]}
}

// from returns the elements starting with object i.
func (e elements) from(i int) elements {
	cut := e.start(i)
	rest := elements{data: e.data[cut:], owners: e.owners[i:]}
	for _, start := range e.starts[i:] {
		rest.starts = append(rest.starts, start-uint32(cut)) // #nosec G115 -- a block is far smaller
	}
	return rest
}

// concat appends elements.
func (e elements) concat(rest elements) elements {
	for _, start := range rest.starts {
		e.starts = append(e.starts, uint32(len(e.data))+start) // #nosec G115 -- a block is far smaller
	}
	e.data = append(e.data, rest.data...)
	e.owners = append(e.owners, rest.owners...)
	return e
}

// blocks returns the elements as one block, as two if they are large, or as none if they are empty.
func (e elements) blocks(since petcat.Revision) []*block {
	n := len(e.starts)
	switch {
	case n == 0:
		return nil
	case n > 1 && len(e.data) > 2*blockSize:
		return []*block{
			newBlock(e.to(n/2), since),
			newBlock(e.from(n/2), since),
		}
	default:
		return []*block{newBlock(e, since)}
	}
}

// segment returns the elements of a sealed block, or the open elements after the last block.
func (l *list) segment(at int) elements {
	if at < len(l.sealed) {
		return l.sealed[at].elements
	}
	return l.open
}

// segmentAfter returns the index of the first segment with an id larger than id, or the number of
// segments.
func (l *list) segmentAfter(id petcat.CategoryID) int {
	return sort.Search(len(l.sealed)+1, func(at int) bool { return l.segment(at).last() > id })
}

// Page is a part of the list.
type Page struct {
	Parts [][]byte // the body, in order: a JSON array
	// Next is the id to continue after, or 0 if the list ends with this page.
	Next petcat.CategoryID
}

// ETag returns a strong validator of the page: a hash of its bytes, which changes in other parts
// of the list do not affect.
func (p Page) ETag() string { return contentTag(p.Parts...) }

// Category returns the JSON object of a category and its strong validator, and whether the list
// has the category.
func (s *Snapshot) Category(id petcat.CategoryID) (object []byte, etag string, found bool) {
	object, found = s.object(id)
	if !found {
		return nil, "", false
	}
	return object, CategoryETag(object), true
}

// object returns the JSON object of a category, and whether the list has the category.
func (s *Snapshot) object(id petcat.CategoryID) (object []byte, found bool) {
	e := s.segment(s.segmentAfter(id - 1))
	i, found := e.find(id)
	if !found {
		return nil, false
	}
	return e.object(i), true
}

// CategoryETag returns the strong validator of a category with the given JSON object.
func CategoryETag(object []byte) string { return contentTag(object) }

// Page returns up to limit categories with ids larger than after.
func (s *Snapshot) Page(after petcat.CategoryID, limit int) Page {
	at := s.segmentAfter(after)
	if at > len(s.sealed) || limit < 1 {
		return Page{Parts: [][]byte{[]byte("[]")}}
	}
	p := Page{Parts: [][]byte{[]byte("[")}}
	for e := s.segment(at); ; e = s.segment(at) {
		i, _ := e.find(after + 1)
		end := min(i+limit, len(e.starts))
		p.Parts = append(p.Parts, e.data[e.start(i):e.start(end)])
		after, limit = e.id(end-1), limit-(end-i)
		if end < len(e.starts) || limit == 0 && at < len(s.sealed) {
			p.Next = after
		}
		if limit == 0 || at == len(s.sealed) {
			break
		}
		at++
	}
	p.Parts = EndArray(p.Parts)
	return p
}

// EndArray appends the end of an array. parts are its beginning and its elements, each with a comma
// after it.
func EndArray(parts [][]byte) [][]byte {
	if len(parts) > 1 {
		last := &parts[len(parts)-1]
		*last = (*last)[:len(*last)-1] // without its comma
	}
	return append(parts, []byte("]"))
}

// Named returns up to limit categories with a name and ids larger than after. It scans the list.
func (s *Snapshot) Named(name string, after petcat.CategoryID, limit int) Page {
	wanted, err := nameMember(name)
	p := Page{Parts: [][]byte{[]byte("[")}}
	for at := s.segmentAfter(after); err == nil && p.Next == 0 && at <= len(s.sealed); at++ {
		e := s.segment(at)
		from, _ := e.find(after + 1)
		for {
			found := bytes.Index(e.data[e.start(from):], wanted)
			if found < 0 {
				break
			}
			found += e.start(from)
			from = sort.Search(len(e.starts), func(i int) bool { return e.start(i) > found })
			if limit == 0 {
				p.Next = after
				break
			}
			p.Parts = append(p.Parts, e.data[e.start(from-1):e.start(from)])
			after, limit = e.id(from-1), limit-1
		}
	}
	p.Parts = EndArray(p.Parts)
	return p
}

// Owned returns up to limit categories that an account created, with ids larger than after, and with a
// name if name is not nil. It scans the list.
func (s *Snapshot) Owned(account petcat.AccountID, name *string, after petcat.CategoryID, limit int) Page {
	var wanted []byte
	var err error
	if name != nil {
		wanted, err = nameMember(*name)
	}
	p := Page{Parts: [][]byte{[]byte("[")}}
	for at := s.segmentAfter(after); err == nil && p.Next == 0 && at <= len(s.sealed); at++ {
		e := s.segment(at)
		for i, _ := e.find(after + 1); i < len(e.owners); i++ {
			if e.owners[i] != account {
				continue
			}
			if !bytes.HasPrefix(bytes.TrimLeft(e.object(i)[len(objectStart):], "0123456789"), wanted) {
				continue
			}
			if limit == 0 {
				p.Next = after
				break
			}
			p.Parts = append(p.Parts, e.data[e.start(i):e.start(i+1)])
			after, limit = e.id(i), limit-1
		}
	}
	p.Parts = EndArray(p.Parts)
	return p
}

// nameMember returns the member with a name, as objects of the list contain it. Quotes within JSON
// strings are escaped, so no other text equals it. It fails if the name is not valid UTF-8.
func nameMember(name string) ([]byte, error) {
	return jsontext.AppendQuote([]byte(nameStart), name)
}

// contentTag returns an ETag that depends only on the bytes of a representation.
func contentTag(parts ...[]byte) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(part)
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}

// Each object begins with objectStart and the id, then nameStart and the name.
const (
	objectStart = `{"id":`
	nameStart   = `,"name":`
)

// AppendCategory appends the JSON object of a category to dst. It is the only encoder of
// categories, so that a category has the same bytes in lists and in responses to its creation. It
// fails only if a text is not valid UTF-8, which constructors reject.
func AppendCategory(dst []byte, c petcat.Category) ([]byte, error) {
	dst = append(dst, objectStart...)
	dst = strconv.AppendInt(dst, int64(c.ID), 10)
	dst = append(dst, nameStart...)
	dst, err := jsontext.AppendQuote(dst, c.Name)
	if err != nil {
		return dst, err
	}
	if c.Description != nil {
		dst = append(dst, `,"description":`...)
		if dst, err = jsontext.AppendQuote(dst, *c.Description); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}
