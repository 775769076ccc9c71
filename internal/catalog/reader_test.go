package catalog_test

import (
	"slices"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
)

// TestReadersAreBounded: the readers of the oldest list are cut off when all together keep too many old
// blocks. A block that several lists have counts once, until the last of their readers is done.
func TestReadersAreBounded(t *testing.T) {
	const count, size = 40, block + 1000 // each category fills a block
	revision := petcat.Revision(1000)
	var c *catalog.Catalog
	edit := func(ids ...int) {
		for _, id := range ids {
			change := many(id, id, size)[0]
			revision++
			change.Revision = revision
			c.Apply([]petcat.RevisedCategory{change})
		}
	}
	fill := func() {
		c = catalog.New("d")
		c.Apply(many(1, count, size))
		c.BoundReaders(12*size + size/2)
	}
	var cut []string
	read := func(name string) (done func()) {
		return current(t, c).Read(func() { cut = append(cut, name) })
	}
	wantCut := func(when string, names ...string) {
		t.Helper()
		slices.Sort(cut) // the readers of one list are cut off in any order
		if !slices.Equal(cut, names) {
			t.Errorf("%s: cut off %v, want %v", when, cut, names)
		}
		cut = nil
	}

	fill()
	old := read("old")
	edit(1, 2, 3, 4, 5)
	other := read("other")
	edit(6, 7)
	for range 100 {
		edit(8) // each reader keeps only its own version
	}
	wantCut("few blocks")
	edit(9, 10)
	wantCut("five blocks and an end, and five and another end")
	edit(11)
	wantCut("too many", "old")
	old()
	edit(13, 14)
	wantCut("the other keeps eight blocks and an end")
	edit(15, 16, 17, 18)
	wantCut("too many again", "other")
	other()

	fill()
	first, second := read("first"), read("second")
	edit(1, 2, 3, 4, 5)
	third := read("third")
	edit(6, 7, 8)
	third() // the others keep its blocks
	edit(9, 10, 11)
	wantCut("readers of one list")
	edit(12)
	wantCut("both", "first", "second")
	first()
	second()
	edit(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	wantCut("nobody reads")
}
