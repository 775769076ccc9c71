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

// splice returns a copy with an object before object i, or without it if that is nil; if it
// is told so, object i is left out. Commas stand before all that has moved.
func (e elements) splice(i int, replace bool, object []byte) elements {
	from, next := e.end(i-1), i
	if replace {
		next++
	}
	out := elements{slices.Clone(e.data[:from]), slices.Clone(e.starts[:i])}
	if object != nil {
		out.data = append(append(out.data, ','), object...)
		out.starts = append(out.starts, uint32(from+1)) // #nosec G115 -- a block is far smaller
	}
	return out.concat(e.from(next))
}

// from returns the elements from object i on.
func (e elements) from(i int) elements {
	cut := e.end(i - 1)
	rest := elements{data: e.data[cut:]}
	for _, start := range e.starts[i:] {
		rest.starts = append(rest.starts, start-uint32(cut)) // #nosec G115 -- a block is far smaller
	}
	return rest
}

// concat appends elements, after a comma.
func (e elements) concat(rest elements) elements {
	end := uint32(len(e.data)) // #nosec G115 -- a block is far smaller
	for _, start := range rest.starts {
		e.starts = append(e.starts, end+start)
	}
	if len(rest.data) > 0 {
		e.data = append(append(e.data, ','), rest.data[1:]...)
	}
	return e
}
