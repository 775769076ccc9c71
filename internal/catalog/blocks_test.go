package catalog_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
)

// element returns a category that takes size bytes of a list, including the character before it.
func element(id, size int) petcat.RevisedCategory {
	fill := strings.Repeat("x", size-len(fmt.Sprintf(`,{"id":%d,"name":"n","description":""}`, id)))
	return revised(id, "n", &fill)
}

// A block is closed when it has reached its size, not a byte earlier.
func TestBlockSize(t *testing.T) {
	for size, parts := range map[int]int{block - 1: 1, block: 3} { // 3: the bracket, a block and the end
		c := catalog.New("d")
		c.Apply([]petcat.RevisedCategory{element(1, size), element(2, 100)})
		if got := len(current(t, c).Representation(catalog.Zstd).Parts); got != parts {
			t.Errorf("an element after %d bytes makes %d parts, want %d", size, got, parts)
		}
	}
}

// A block is split when a change makes it larger than two blocks, unless it has one category.
func TestChangeSplitsBlock(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []petcat.RevisedCategory // of a full block
		change petcat.RevisedCategory
		want   int // blocks
	}{
		{"two blocks long", []petcat.RevisedCategory{element(1, 50), element(2, block)}, element(1, block), 1},
		{"longer", []petcat.RevisedCategory{element(1, 50), element(2, block)}, element(1, block+1), 2},
		{
			"its first",
			[]petcat.RevisedCategory{element(1, 50), element(2, 50), element(3, block)}, element(1, 3*block), 2,
		},
		{
			"its last",
			[]petcat.RevisedCategory{element(1, 50), element(2, 50), element(3, block)}, element(3, 3*block), 2,
		},
		{"one category", []petcat.RevisedCategory{element(1, block)}, element(1, 3*block), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := catalog.New("d")
			list.Apply(append(slices.Clone(c.before), element(9, 100)))
			c.change.Revision = 100
			list.Apply([]petcat.RevisedCategory{c.change})
			s := current(t, list)
			want := []petcat.Category{}
			for _, before := range append(c.before, element(9, 100)) {
				if before.ID == c.change.ID {
					before = c.change
				}
				want = append(want, before.Category)
			}
			if got := unmarshalled(t, joined(s, catalog.Identity)); !equal(got, want) {
				t.Errorf("the list of %d categories is wrong", len(got))
			}
			if got := len(s.Representation(catalog.Zstd).Parts) - 2; got != c.want { // without bracket and end
				t.Errorf("%d blocks, want %d", got, c.want)
			}
		})
	}
}

// After all open elements were deleted, the list ends with the last block, for pages, single
// categories and changes.
func TestListEndsWithABlock(t *testing.T) {
	c := catalog.New("d")
	first, second := element(10, block), element(20, block)
	c.Apply([]petcat.RevisedCategory{first, second, element(30, 100)})
	c.Apply([]petcat.RevisedCategory{{Category: petcat.Category{ID: 30}, Revision: 100, Deleted: true}})
	s := current(t, c)
	for _, p := range []struct {
		after petcat.CategoryID
		limit int
		want  []petcat.Category
		next  petcat.CategoryID
	}{
		{0, 1, []petcat.Category{first.Category}, 10},
		{0, 2, []petcat.Category{first.Category, second.Category}, 0},
		{10, 1, []petcat.Category{second.Category}, 0},
		{10, 2, []petcat.Category{second.Category}, 0},
		{20, 1, []petcat.Category{}, 0},
	} {
		page := s.Page(p.after, p.limit)
		if got := unmarshalled(t, bytes.Join(page.Parts, nil)); !equal(got, p.want) || page.Next != p.next {
			t.Errorf("page of %d after %d: got %d categories and next %d, want %d and %d",
				p.limit, p.after, len(got), page.Next, len(p.want), p.next)
		}
	}
	for id, want := range map[petcat.CategoryID]bool{10: true, 15: false, 20: true, 25: false, 30: false} {
		if _, _, found := s.Category(id); found != want {
			t.Errorf("category %d: %v", id, found)
		}
	}

	between, changed, after := revised(15, "between", nil), revised(20, "changed", nil), revised(40, "after", nil)
	between.Revision, changed.Revision, after.Revision = 101, 102, 103
	c.Apply([]petcat.RevisedCategory{between, changed, after})
	want := []petcat.Category{first.Category, between.Category, changed.Category, after.Category}
	if got := unmarshalled(t, joined(current(t, c), catalog.Identity)); !equal(got, want) {
		t.Errorf("the list of %d categories is wrong", len(got))
	}
}
