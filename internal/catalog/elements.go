package catalog

import (
	"slices"
	"sort"

	"petcat"
)

// elements is a stretch of the list: objects by id ascending. A comma stands before
// each, before the first of the list its bracket.
type elements struct {
	data   []byte
	starts []uint32 // where each object begins in data
}

func (e elements) count() int { return len(e.starts) }

// end returns the position behind object i. That of object -1 is where the first one
// begins, with what stands before it.
func (e elements) end(i int) int {
	if i+1 < len(e.starts) {
		return int(e.starts[i+1]) - 1
	}
	return len(e.data)
}

// object returns object i, without what separates it.
func (e elements) object(i int) []byte { return e.data[e.starts[i]:e.end(i):e.end(i)] }

// id returns the id of object i. Each object begins with it: see [AppendCategory].
func (e elements) id(i int) petcat.CategoryID {
	var id petcat.CategoryID
	for _, digit := range e.data[int(e.starts[i])+len(objectStart):] {
		if digit < '0' || digit > '9' {
			break
		}
		id = 10*id + petcat.CategoryID(digit-'0')
	}
	return id
}

// last returns the id of the last object. There is one.
func (e elements) last() petcat.CategoryID { return e.id(e.count() - 1) }

// find returns which object has an id, or which is the first with a larger one.
func (e elements) find(id petcat.CategoryID) (i int, found bool) {
	return sort.Find(e.count(), func(i int) int { return int(id - e.id(i)) })
}

// splice returns a copy in which an object, if it is not nil, takes the place of as many
// others, from the i-th on, as are told. Commas stand before all that it has moved.
func (e elements) splice(i, replaced int, object []byte) elements {
	from, to := e.end(i-1), e.end(i+replaced-1)
	out := elements{slices.Clone(e.data[:from]), slices.Clone(e.starts[:i])}
	if object != nil {
		out.data = append(append(out.data, ','), object...)
		out.starts = append(out.starts, uint32(from+1)) // #nosec G115 -- a block is far smaller
	}
	moved := uint32(len(out.data) - to) // #nosec G115 -- modulo 2^32, like the sum below
	if to < len(e.data) {
		out.data = append(append(out.data, ','), e.data[to+1:]...)
	}
	for _, start := range e.starts[i+replaced:] {
		out.starts = append(out.starts, start+moved)
	}
	return out
}

// halves returns the elements in two stretches of about the same number of bytes. There
// are two elements at least.
func (e elements) halves() (first, second elements) {
	n := 1 + sort.Search(e.count(), func(i int) bool {
		return e.end(i) >= len(e.data)/2
	})
	n = min(n, e.count()-1)
	cut := e.end(n - 1)
	first = elements{e.data[:cut:cut], e.starts[:n:n]}
	second = elements{data: e.data[cut:]}
	for _, start := range e.starts[n:] {
		second.starts = append(second.starts, start-uint32(cut)) // #nosec G115 -- a block is far smaller
	}
	return first, second
}
