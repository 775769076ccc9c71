package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"petcat"
)

// elements is a stretch of the list: objects by id ascending, a comma behind each.
type elements struct {
	data   []byte
	starts []uint32 // where each object begins in data
}

func (e elements) clone() elements { return elements{slices.Clone(e.data), slices.Clone(e.starts)} }

// start returns where object i begins, behind the last one where the stretch ends.
func (e elements) start(i int) int {
	if i < len(e.starts) {
		return int(e.starts[i])
	}
	return len(e.data)
}

// object returns object i, without the comma.
func (e elements) object(i int) []byte { return e.data[e.start(i) : e.start(i+1)-1] }

// id returns the id of object i. Each object begins with it: see [AppendCategory].
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

// last returns the id of the last object, 0 if there is none.
func (e elements) last() petcat.CategoryID {
	if len(e.starts) == 0 {
		return 0
	}
	return e.id(len(e.starts) - 1)
}

// find returns which object has an id, or which is the first with a larger one.
func (e elements) find(id petcat.CategoryID) (i int, found bool) {
	return sort.Find(len(e.starts), func(i int) int { return int(id - e.id(i)) })
}

// splice returns a copy with an object before object i, or without it if that is nil; if it
// is told so, object i is left out.
func (e elements) splice(i int, replace bool, object []byte) elements {
	next := i
	if replace {
		next++
	}
	out := elements{e.data[:e.start(i)], e.starts[:i]}.clone()
	if object != nil {
		out = out.concat(elements{append(object, ','), []uint32{0}})
	}
	return out.concat(e.from(next))
}

// from returns the elements from object i on.
func (e elements) from(i int) elements {
	cut := e.start(i)
	rest := elements{data: e.data[cut:]}
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
	return e
}

// blocks returns the elements as a block: as none if there are none, as two if they are many.
func (e elements) blocks() []*block {
	n := len(e.starts)
	switch {
	case n == 0:
		return nil
	case n > 1 && len(e.data) > 2*blockSize:
		return []*block{newBlock(elements{e.data[:e.start(n/2)], e.starts[:n/2]}), newBlock(e.from(n / 2))}
	default:
		return []*block{newBlock(e)}
	}
}

// stretch returns the elements of a block, or behind the last one the open elements.
func (l *list) stretch(at int) elements {
	if at < len(l.sealed) {
		return l.sealed[at].elements
	}
	return l.open
}

// behind returns the first stretch that holds a larger id; if none does, what follows the
// open one.
func (l *list) behind(id petcat.CategoryID) int {
	return sort.Search(len(l.sealed)+1, func(at int) bool { return l.stretch(at).last() > id })
}

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
	e := s.stretch(s.behind(id - 1))
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
	at := s.behind(after)
	if at > len(s.sealed) || limit < 1 {
		return Page{Parts: [][]byte{[]byte("[]")}}
	}
	p := Page{Parts: [][]byte{[]byte("[")}}
	for e := s.stretch(at); ; e = s.stretch(at) {
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
	last := &p.Parts[len(p.Parts)-1]
	*last = (*last)[:len(*last)-1] // without its comma
	p.Parts = append(p.Parts, []byte("]"))
	return p
}

// Named returns the first categories after an id that have a name, at most limit of them. It
// reads all of the list.
func (s *Snapshot) Named(name string, after petcat.CategoryID, limit int) Page {
	// Within a text, a backslash stands before each quote: so this is a member.
	wanted, err := jsontext.AppendQuote([]byte(nameStart), name)
	p := Page{Parts: [][]byte{[]byte("[")}}
	for at := s.behind(after); err == nil && p.Next == 0 && at <= len(s.sealed); at++ {
		e := s.stretch(at)
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
	if last := &p.Parts[len(p.Parts)-1]; len(p.Parts) > 1 {
		*last = (*last)[:len(*last)-1] // without its comma
	}
	p.Parts = append(p.Parts, []byte("]"))
	return p
}

// contentTag returns an entity tag that follows from a representation's bytes alone.
func contentTag(parts ...[]byte) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(part)
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}

// objectStart is what every object begins with; its id follows. Its name follows nameStart.
const (
	objectStart = `{"id":`
	nameStart   = `,"name":`
)

// AppendCategory appends the JSON object of a category to dst. It is the only
// encoder of categories, so that a category has the same bytes in a list, in
// the answer to its creation, and in a replay of that answer. It fails only on
// texts that are not valid UTF-8, which no constructor lets pass.
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
