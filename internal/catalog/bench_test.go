package catalog_test

import (
	"fmt"
	"testing"

	"petcat"
	"petcat/internal/catalog"
)

// filled returns a catalog of n categories of about 60 bytes.
func filled(n int) *catalog.Catalog {
	c := catalog.New("d")
	c.Apply(many(1, n, 60))
	return c
}

// One create among few and among many: the costs are to be the same.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, id := filled(n), n
			one := many(1, 1, 60)
			b.ReportAllocs()
			for b.Loop() {
				id++
				one[0].ID, one[0].Revision = petcat.CategoryID(id), petcat.Revision(2*id+5)
				c.Apply(one)
			}
		})
	}
}

func BenchmarkAppendCategory(b *testing.B) {
	description := "loyal, needs walks"
	category := petcat.Category{ID: 123_456, Name: "dog", Description: &description}
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = catalog.AppendCategory(buf[:0], category); err != nil {
			b.Fatal(err)
		}
	}
}

// The first reader of each encoding after a create, of a long list.
func BenchmarkRepresentationAfterCreate(b *testing.B) {
	for _, e := range encodings() {
		for _, n := range []int{1_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", e, n), func(b *testing.B) {
				c, id := filled(n), n
				current(b, c).Representation(e)
				one := many(1, 1, 60)
				b.ReportAllocs()
				for b.Loop() {
					id++
					one[0].ID, one[0].Revision = petcat.CategoryID(id), petcat.Revision(2*id+5)
					c.Apply(one)
					current(b, c).Representation(e)
				}
			})
		}
	}
}

// The first reader of each encoding after a change in the middle of a long list, and the
// change.
func BenchmarkRepresentationAfterChange(b *testing.B) {
	for _, e := range encodings() {
		for _, n := range []int{1_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", e, n), func(b *testing.B) {
				c := filled(n)
				current(b, c).Representation(e)
				one := many(1, 1, 60)
				revision := petcat.Revision(2*n + 5)
				b.ReportAllocs()
				for b.Loop() {
					revision++
					one[0].ID, one[0].Revision = petcat.CategoryID(1+int(revision)*7919%n), revision
					c.Apply(one)
					current(b, c).Representation(e)
				}
			})
		}
	}
}

func BenchmarkPage(b *testing.B) {
	c := filled(1_000_000)
	s := current(b, c)
	b.ReportAllocs()
	for b.Loop() {
		s.Page(500_000, 100).ETag()
	}
}
