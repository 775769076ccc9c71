package catalog_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/catalog"
)

// drawCategory draws texts with characters that JSON must or may escape, of up to 40 KB, so that
// four categories can fill a block.
func drawCategory(t *rapid.T, id int) petcat.RevisedCategory {
	piece := rapid.SampledFrom([]string{"x", "é", "🐕", `"`, `\`, "<&>", "\u2028", "/", "\u007f", "ab c"})
	name := "n" + strings.Repeat(piece.Draw(t, "name"), rapid.IntRange(0, 300).Draw(t, "times"))
	if !rapid.Bool().Draw(t, "described") {
		return revised(id, name, nil)
	}
	times := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(9_000, 10_000)).Draw(t, "times")
	description := strings.Repeat(piece.Draw(t, "description"), times) + "\t\r\n"
	return revised(id, name, &description)
}

// model is the expected list.
type model struct {
	list     []petcat.Category
	created  int
	revision petcat.Revision
}

func (m *model) find(id petcat.CategoryID) (int, bool) {
	return slices.BinarySearchFunc(m.list, id, byID)
}

func byID(c petcat.Category, id petcat.CategoryID) int { return cmp.Compare(c.ID, id) }

// draw draws a change and applies it: usually a create, often a change or deletion of a category,
// sometimes of a category that does not exist.
func (m *model) draw(t *rapid.T) petcat.RevisedCategory {
	m.revision += petcat.Revision(rapid.IntRange(1, 3).Draw(t, "gap"))
	what := rapid.IntRange(0, 9).Draw(t, "what")
	if m.created == 0 || what < 5 {
		m.created += rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "ids") // skipped ids come later or never
		c := drawCategory(t, m.created)
		c.Revision = m.revision
		m.list = append(m.list, c.Category)
		return c
	}
	id := petcat.CategoryID(rapid.IntRange(1, m.created).Draw(t, "id"))
	i, found := m.find(id)
	if what < 7 {
		if found {
			m.list = slices.Delete(slices.Clone(m.list), i, i+1)
		}
		return petcat.RevisedCategory{Category: petcat.Category{ID: id}, Revision: m.revision, Deleted: true}
	}
	c := drawCategory(t, int(id))
	c.Revision = m.revision
	m.list = slices.Clone(m.list) // snapshots of the model use the old slice
	if found {
		m.list[i] = c.Category
	} else {
		m.list = slices.Insert(m.list, i, c.Category)
	}
	return c
}

// After random changes, each snapshot has exactly the categories of its time, never changes, and
// is the same list in every encoding, whenever that is first requested. Its pages and categories
// match.
func TestListProperties(t *testing.T) {
	type seen struct {
		snapshot *catalog.Snapshot
		want     []petcat.Category
		bodies   map[catalog.Encoding][]byte
	}
	// Often a snapshot is only read at the end, after later creates could have changed its
	// memory.
	asked := [][]catalog.Encoding{nil, nil, encodings(), {catalog.Identity}, {catalog.Gzip}, {catalog.Zstd}}
	rapid.Check(t, func(t *rapid.T) {
		c := catalog.New("d")
		var m model
		var along []*seen
		look := func() {
			s := &seen{snapshot: current(t, c), want: slices.Clone(m.list), bodies: map[catalog.Encoding][]byte{}}
			for _, e := range rapid.SampledFrom(asked).Draw(t, "requested") {
				s.bodies[e] = joined(s.snapshot, e)
			}
			along = append(along, s)
		}
		look()
		for range rapid.IntRange(0, 12).Draw(t, "commits") {
			var batch []petcat.RevisedCategory
			for range rapid.IntRange(1, 6).Draw(t, "batch") {
				batch = append(batch, m.draw(t))
			}
			c.Apply(batch)
			look()
		}
		for _, s := range along {
			plain := joined(s.snapshot, catalog.Identity)
			if got := unmarshalled(t, plain); !equal(got, s.want) {
				t.Fatalf("the list of %d is wrong:\n%s", len(s.want), diff.Diff(s.want, got))
			}
			if s.snapshot.Count() != int64(len(s.want)) {
				t.Fatalf("got count %d for a list of %d", s.snapshot.Count(), len(s.want))
			}
			checkCuts(t, s.snapshot, s.want)
			for _, e := range encodings() {
				body := joined(s.snapshot, e)
				if earlier, ok := s.bodies[e]; ok && !bytes.Equal(earlier, body) {
					t.Fatalf("the list of %d as %s changed", len(s.want), e)
				}
				if !bytes.Equal(decoded(t, e, body), plain) {
					t.Fatalf("the list of %d as %s is wrong", len(s.want), e)
				}
				checkRepresentation(t, s.snapshot.Representation(e), e)
			}
		}
	})
}

func equal(a, b []petcat.Category) bool { return slices.EqualFunc(a, b, petcat.Category.Equal) }

// checkCuts checks each category of a list and some pages.
func checkCuts(t *rapid.T, s *catalog.Snapshot, want []petcat.Category) {
	t.Helper()
	for _, c := range want {
		object, etag, found := s.Category(c.ID)
		plain, err := catalog.AppendCategory(nil, c)
		if err != nil || !found || !bytes.Equal(object, plain) || etag != catalog.CategoryETag(plain) {
			t.Fatalf("category %d is %.100s (%v), want %.100s", c.ID, object, found, plain)
		}
	}
	after := petcat.CategoryID(rapid.IntRange(0, 30).Draw(t, "after"))
	limit := rapid.SampledFrom([]int{1, 2, 5, 1_000}).Draw(t, "limit")
	if _, found := slices.BinarySearchFunc(want, after, byID); !found {
		if _, _, found := s.Category(after); found {
			t.Fatalf("found the category %d, which does not exist", after)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(want), func(c petcat.Category) bool { return c.ID <= after })
	checkPages(t, rest, after, limit, s.Page)
	owned := slices.DeleteFunc(rest, func(c petcat.Category) bool { return ownerOf(c.ID) != 1 })
	checkPages(t, owned, after, limit, func(after petcat.CategoryID, limit int) catalog.Page {
		return s.Owned(1, nil, after, limit)
	})
}

// checkPages checks the pages of the rest of a list.
func checkPages(
	t *rapid.T, rest []petcat.Category, after petcat.CategoryID, limit int,
	read func(after petcat.CategoryID, limit int) catalog.Page,
) {
	t.Helper()
	for {
		page := read(after, limit)
		n := min(limit, len(rest))
		if got := unmarshalled(t, bytes.Join(page.Parts, nil)); !equal(got, rest[:n]) {
			t.Fatalf("the page of %d after %d is wrong:\n%s", limit, after, diff.Diff(rest[:n], got))
		}
		if goesOn := n < len(rest); goesOn != (page.Next != 0) || goesOn && page.Next != rest[n-1].ID {
			t.Fatalf("after %d of %d categories, next is %d", n, len(rest), page.Next)
		}
		if page.Next == 0 {
			return
		}
		after, rest = page.Next, rest[n:]
	}
}

func checkRepresentation(t rapid.TB, r *catalog.Representation, e catalog.Encoding) {
	t.Helper()
	size := 0
	for _, part := range r.Parts {
		size += len(part)
	}
	encoding := []string{e.String()}
	if e == catalog.Identity {
		encoding = nil
	}
	if !slices.Equal(r.ContentLength, []string{fmt.Sprint(size)}) || !slices.Equal(r.ContentEncoding, encoding) {
		t.Fatalf("%s: %d bytes; Content-Length %v, Content-Encoding %v", e, size, r.ContentLength, r.ContentEncoding)
	}
}

func TestApplyIsIdempotent(t *testing.T) {
	c := catalog.New("d")
	batch := many(1, 5, 100)
	c.Apply(batch)
	first := current(t, c)
	c.Apply(batch)
	c.Apply(batch[2:4])
	c.Apply(nil)
	again := current(t, c)
	if before, after := joined(first, catalog.Identity), joined(again, catalog.Identity); !bytes.Equal(before, after) {
		t.Errorf("the list changed:\n%s\n%s", before, after)
	}
	if !slices.Equal(again.ETags(), first.ETags()) {
		t.Errorf("the ETags changed from %s to %s", first.ETags(), again.ETags())
	}
	// Changes that are partly known add the rest.
	c.Apply(many(4, 7, 100))
	if got := current(t, c).Count(); got != 7 {
		t.Errorf("got %d categories, want 7", got)
	}
}

// Known changes do not recompress their block.
func TestKnownChangesAreNotCompressed(t *testing.T) {
	c := catalog.New("d")
	c.Apply(many(1, 2_000, 200))
	change := []petcat.RevisedCategory{revised(1, "changed", nil)}
	change[0].Revision = 10_000
	c.Apply(change)
	before := current(t, c).Representation(catalog.Zstd).Parts
	next := revised(2_001, "next", nil)
	next.Revision = change[0].Revision + 1
	c.Apply(append(change, next))
	if after := current(t, c).Representation(catalog.Zstd).Parts; &after[1][0] != &before[1][0] {
		t.Error("the block was compressed again")
	}
}

// each is a store with categories, which may fail after them.
type each struct {
	categories []petcat.RevisedCategory
	err        error
}

func (s each) EachCategory(_ context.Context, fn func(petcat.RevisedCategory) error) error {
	for _, c := range s.categories {
		if err := fn(c); err != nil {
			return err
		}
	}
	return s.err
}

func TestLoad(t *testing.T) {
	t.Run("then apply", func(t *testing.T) {
		c := catalog.New("d")
		if err := c.Load(t.Context(), each{categories: many(1, 2_000, 200)}); err != nil {
			t.Fatal(err)
		}
		c.Apply(many(1_999, 2_001, 200)) // commits during the load
		applied := catalog.New("d")
		for _, category := range many(1, 2_001, 200) {
			applied.Apply([]petcat.RevisedCategory{category})
		}
		for _, e := range encodings() {
			a, b := current(t, c).Representation(e), current(t, applied).Representation(e)
			if !bytes.Equal(bytes.Join(a.Parts, nil), bytes.Join(b.Parts, nil)) || !slices.Equal(a.ETag, b.ETag) {
				t.Errorf("%s: loaded and applied lists differ", e)
			}
		}
	})
	t.Run("the store fails", func(t *testing.T) {
		down := errors.New("down")
		err := catalog.New("d").Load(t.Context(), each{categories: many(1, 2, 100), err: down})
		if !errors.Is(err, down) {
			t.Errorf("got the error %v", err)
		}
	})
	t.Run("a text that cannot be encoded", func(t *testing.T) {
		err := catalog.New("d").Load(t.Context(), each{categories: []petcat.RevisedCategory{revised(7, "\xff", nil)}})
		if err == nil || !strings.Contains(err.Error(), "category 7") {
			t.Errorf("error %v", err)
		}
	})
}

// A stored category that cannot be encoded causes a panic, and does not affect other categories.
func TestApplyPanicsOnInvalidText(t *testing.T) {
	c := catalog.New("d")
	c.Apply(many(1, 2, 100))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		c.Apply([]petcat.RevisedCategory{revised(3, "\xff", nil)})
	}()
	c.Apply([]petcat.RevisedCategory{revised(4, "n", nil)})
	if got := unmarshalled(t, joined(current(t, c), catalog.Identity)); len(got) != 3 || got[2].ID != 4 {
		t.Errorf("the list is %v", got)
	}
}

// During creates, readers see complete lists that only grow.
func TestConcurrentReaders(t *testing.T) {
	const creates, perCreate = 400, 2_000 // about 6 blocks
	c := catalog.New("d")
	done := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 4 {
		e := encodings()[i%3]
		readers.Go(func() {
			var last int64
			for finished := false; !finished; {
				select {
				case <-done:
					finished = true // and read once more
				default:
				}
				s, _, err := c.Current(t.Context(), 0)
				if err != nil {
					t.Error(err)
					return
				}
				plain := decoded(t, e, joined(s, e))
				count := int64(bytes.Count(plain, []byte(`{"id":`)))
				if count != s.Count() || count < last || plain[0] != '[' || plain[len(plain)-1] != ']' {
					t.Errorf("got a list of %d after a list of %d; Count is %d", count, last, s.Count())
					return
				}
				last = count
			}
			if last != creates {
				t.Errorf("the last list has %d categories, want %d", last, creates)
			}
		})
	}
	for _, category := range many(1, creates, perCreate) {
		c.Apply([]petcat.RevisedCategory{category})
	}
	close(done)
	readers.Wait()
}

// All callers share one representation of each encoding of a snapshot.
func TestRepresentationIsMadeOnce(t *testing.T) {
	c := catalog.New("d")
	c.Apply(many(1, 2_000, 200))
	s := current(t, c)
	for _, e := range encodings() {
		representations := make([]*catalog.Representation, 8)
		var all sync.WaitGroup
		for i := range representations {
			all.Go(func() { representations[i] = s.Representation(e) })
		}
		all.Wait()
		for _, r := range representations {
			if r != representations[0] {
				t.Errorf("%s was computed more than once", e)
			}
		}
	}
}

// A change in the middle of a long list replaces one block and keeps the other blocks' memory, in every
// encoding.
func TestChangeReplacesOneBlock(t *testing.T) {
	const element, n = 1_000, 3_000
	c := catalog.New("d")
	c.Apply(many(1, n, element))
	revision := revised(n, "", nil).Revision
	change := func(change petcat.RevisedCategory) {
		revision++
		change.Revision = revision
		c.Apply([]petcat.RevisedCategory{change})
	}
	for name, make := range map[string]func(id petcat.CategoryID){
		"changed": func(id petcat.CategoryID) { change(revised(int(id), "new", nil)) },
		"deleted": func(id petcat.CategoryID) {
			change(petcat.RevisedCategory{Category: petcat.Category{ID: id}, Deleted: true})
		},
	} {
		for _, id := range []petcat.CategoryID{1, 2, n / 2, n - 1, n} {
			for _, e := range []catalog.Encoding{catalog.Gzip, catalog.Zstd} {
				before := current(t, c).Representation(e).Parts
				make(id)
				after := current(t, c).Representation(e).Parts
				replaced := 0
				for _, part := range after {
					if !slices.ContainsFunc(before, func(b []byte) bool { return &b[0] == &part[0] }) {
						replaced++
					}
				}
				if replaced > 3 { // the bracket, the block and the end with the checksum
					t.Errorf("%s %d, %s: %d of %d parts are new", name, id, e, replaced, len(after))
				}
			}
		}
	}
}

// Empty blocks are removed.
func TestEmptyBlocksAreRemoved(t *testing.T) {
	c := catalog.New("d")
	c.Apply(many(1, 5_000, 100))
	revision := revised(5_000, "", nil).Revision
	for id := 1; id <= 5_000; id++ {
		revision++
		gone := petcat.Category{ID: petcat.CategoryID(id)}
		c.Apply([]petcat.RevisedCategory{{Category: gone, Revision: revision, Deleted: true}})
	}
	s := current(t, c)
	list, parts := joined(s, catalog.Identity), s.Representation(catalog.Identity).Parts
	if string(list) != "[]" || s.Count() != 0 || len(parts) != 1 {
		t.Errorf("got %d categories in %d parts: %.100s", s.Count(), len(parts), list)
	}
	c.Apply([]petcat.RevisedCategory{{Category: petcat.Category{ID: 5_001, Name: "again"}, Revision: revision + 1}})
	if list := joined(current(t, c), catalog.Identity); string(list) != `[{"id":5001,"name":"again"}]` {
		t.Errorf("the list is %s", list)
	}
}

// Load includes the revisions of deleted categories, so that the ETag is new.
func TestLoadAfterDeletions(t *testing.T) {
	gone := petcat.RevisedCategory{Category: petcat.Category{ID: 2}, Revision: 100, Deleted: true}
	c := catalog.New("d")
	with := []petcat.RevisedCategory{revised(1, "a", nil), gone, revised(3, "c", nil)}
	if err := c.Load(t.Context(), each{categories: with}); err != nil {
		t.Fatal(err)
	}
	s := current(t, c)
	list, etag := joined(s, catalog.Identity), s.ETags()[catalog.Identity]
	if string(list) != `[{"id":1,"name":"a"},{"id":3,"name":"c"}]` || etag != `"d-100"` {
		t.Errorf("ETag %s of %s", etag, list)
	}
}

// ETags differ between datasets, revisions and encodings.
func TestETagsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, dataset := range []string{"a", "a-1", "a-1-2", "b", "1"} {
		c := catalog.New(dataset)
		for id := range 30 {
			for _, e := range encodings() {
				etag := current(t, c).Representation(e).ETag
				where := dataset + " " + e.String()
				if len(etag) != 1 || !regexp.MustCompile(`^"[^"]+"$`).MatchString(etag[0]) {
					t.Fatalf("%s: %v is not a strong validator", where, etag)
				}
				if twin, taken := seen[etag[0]]; taken {
					t.Errorf("%s after %d creates has the ETag %s of %s", where, id, etag[0], twin)
				}
				seen[etag[0]] = where
			}
			c.Apply([]petcat.RevisedCategory{revised(id+1, "n", nil)})
		}
	}
}

func TestAppendCategory(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name     string
		category petcat.Category
		want     string
	}{
		{"name alone", petcat.Category{ID: 1, Name: "dog"}, `{"id":1,"name":"dog"}`},
		{"no text", petcat.Category{ID: 2, Name: "d", Description: text("")}, `{"id":2,"name":"d","description":""}`},
		{"largest id", petcat.Category{ID: 1<<53 - 1, Name: "d"}, `{"id":9007199254740991,"name":"d"}`},
		{
			"escapes",
			petcat.Category{ID: 3, Name: `"\`, Description: text("\t\r\n")},
			`{"id":3,"name":"\"\\","description":"\t\r\n"}`,
		},
		{"no escapes", petcat.Category{ID: 4, Name: "<é&🐕/\u2028>"}, "{\"id\":4,\"name\":\"<é&🐕/\u2028>\"}"},
		{"control", petcat.Category{ID: 5, Name: "\x00\x1f\x7f"}, "{\"id\":5,\"name\":\"\\u0000\\u001f\x7f\"}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := catalog.AppendCategory([]byte("before"), c.category)
			if err != nil || string(got) != "before"+c.want {
				t.Errorf("%s, %v\nwant %s", got, err, c.want)
			}
		})
	}
	for _, bad := range []petcat.Category{{Name: "\xff"}, {Name: "n", Description: text("\xed\xa0\x80")}} {
		if got, err := catalog.AppendCategory(nil, bad); err == nil {
			t.Errorf("%q was encoded as %s", bad.Name, got)
		}
	}
}

// TestHoldings: an account's storage is the sum over its categories in the list, after any changes.
func TestHoldings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := catalog.New("D")
		stored := make(map[petcat.CategoryID]petcat.RevisedCategory)
		next := petcat.CategoryID(1)
		for revision := petcat.Revision(1); revision <= 30; revision++ {
			change := petcat.RevisedCategory{Revision: revision}
			change.ID = petcat.CategoryID(rapid.Int64Range(1, int64(next)).Draw(t, "id"))
			change.Account = petcat.AccountID(change.ID % 3)
			if change.ID == next {
				next++
			}
			_, exists := stored[change.ID]
			if change.Deleted = exists && rapid.Bool().Draw(t, "delete"); change.Deleted {
				delete(stored, change.ID)
			} else {
				change.Name = rapid.StringMatching(`[a-zé🐕"\\]{1,20}`).Draw(t, "name")
				if rapid.Bool().Draw(t, "described") {
					change.Description = new(rapid.StringMatching(`[a-z"\n\t]{0,40}`).Draw(t, "description"))
				}
				stored[change.ID] = change
			}
			c.Apply([]petcat.RevisedCategory{change})
		}
		want := make(map[petcat.AccountID]petcat.Storage)
		var all petcat.Storage
		for _, category := range stored {
			want[category.Account] = want[category.Account].Plus(category.Stored())
			all = all.Plus(category.Stored())
		}
		for account := range petcat.AccountID(3) {
			got := c.Holdings(account)
			if got.Account != want[account] || got.All != all {
				t.Fatalf("account %d: %+v, want %+v of %+v", account, got, want[account], all)
			}
		}
		if list := joined(current(t, c), catalog.Identity); int64(len(list)) > all.Bytes+2 {
			t.Fatalf("the list has %d bytes, and its categories count for %d", len(list), all.Bytes)
		}
	})
}

// TestRelease: an unused encoding is freed, and made again on request.
func TestRelease(t *testing.T) {
	c := catalog.New("D")
	c.Apply(many(1, 300, 1000))
	zstd := current(t, c).Representation(catalog.Zstd)
	c.Release()
	if current(t, c).Representation(catalog.Zstd) != zstd {
		t.Error("an encoding was freed although it was asked for since the last release")
	}
	c.Release() // asked for once since
	c.Release()
	made := current(t, c).Representation(catalog.Zstd)
	if made == zstd || &made.Parts[1][0] == &zstd.Parts[1][0] {
		t.Error("an encoding that nobody asked for was kept")
	}
	if !bytes.Equal(bytes.Join(made.Parts, nil), bytes.Join(zstd.Parts, nil)) {
		t.Error("the encoding that was made again differs")
	}
}
