package catalog

import (
	"strings"
	"testing"
)

// A stretch is divided behind the object that holds its middle, and both parts have one.
func TestHalves(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int // of the objects, each with what stands before it
		first int   // how many of them are in the first part
	}{
		{"two", []int{10, 10}, 1},
		{"four alike", []int{10, 10, 10, 10}, 2},
		{"five alike", []int{10, 10, 10, 10, 10}, 3},
		{"a large one first", []int{100, 10, 10}, 1},
		{"a large one last", []int{10, 10, 100}, 2},
		{"a large one in the middle", []int{10, 10, 100, 10, 10}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e elements
			for _, size := range c.sizes {
				e.starts = append(e.starts, uint32(len(e.data)+1))
				e.data = append(e.data, ","+strings.Repeat("x", size-1)...)
			}
			first, second := e.halves()
			if first.count() != c.first || first.count()+second.count() != len(c.sizes) {
				t.Fatalf("%d and %d objects, want %d of %d first", first.count(), second.count(), c.first, len(c.sizes))
			}
			for i, size := range c.sizes {
				half, at := first, i
				if i >= c.first {
					half, at = second, i-c.first
				}
				if got := len(half.object(at)); got != size-1 {
					t.Errorf("object %d has %d bytes, want %d", i, got, size-1)
				}
			}
		})
	}
}
