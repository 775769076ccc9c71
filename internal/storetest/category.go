package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/clocktest"
)

func categories(t *testing.T, s petcat.CategoryStore) []petcat.RevisedCategory {
	t.Helper()
	return collect(t, func(fn func(petcat.RevisedCategory) error) error { return s.EachCategory(t.Context(), fn) })
}

// Names returns the names of the categories of a store.
func Names(t testing.TB, s petcat.CategoryStore) (names []string) {
	t.Helper()
	err := s.EachCategory(t.Context(), func(c petcat.RevisedCategory) error {
		names = append(names, c.Name)
		return nil
	})
	if err != nil {
		t.Fatalf("read categories: %v", err)
	}
	return names
}

// naughty are valid names that a driver or database could alter.
var naughty = []string{
	"Dogs", " leading and trailing ", "'; DROP TABLE categories; --", `"quoted" \backslash\`, "%s %d ?1 $1 :name @p",
	"NULL", "0", "-1", "1e3", "0x10", "true", "2027-01-31", "café", "cafe\u0301", "Straße", "İstanbul", "ﬁ",
	"犬", "كلب", "\u202eright to left", "zero\u200bwidth", "\ufeffbom", "👩‍👩‍👧‍👦",
	"\U0010ffff", "\ufffd", "a\u00a0b", "<script>&amp;",
	strings.Repeat("🐕", petcat.MaxCategoryName),
}

func testCategories(t *testing.T, open Open) {
	t.Run("an empty store has no categories", func(t *testing.T) {
		f := start(t, open)
		if got := categories(t, f); len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("texts are stored exactly, in the order of creation", func(t *testing.T) { testTexts(t, open) })
	t.Run("a stream stops at the first error", func(t *testing.T) { testStreamStops(t, open) })
}

func testTexts(t *testing.T, open Open) {
	f := start(t, open)
	var want []petcat.Category
	add := func(name string, description *string) {
		c := petcat.Category{ID: petcat.CategoryID(len(want) + 1), Name: name, Description: description}
		wantEqual(t, "the result", c, f.create(t, name, description))
		want = append(want, c)
	}
	for _, text := range naughty {
		add(text, &text)
	}
	empty, lines := "", "tab\tand\r\nlines\n"
	add("Dogs", nil) // names need not be unique
	add("Dogs", &empty)
	add("Dogs", &lines)
	var got []petcat.Category
	var last petcat.Revision
	for _, c := range categories(t, f) {
		if c.Revision <= last {
			t.Errorf("category %d has revision %d after %d", c.ID, c.Revision, last)
		}
		last = c.Revision
		got = append(got, c.Category)
	}
	wantEqual(t, "the categories", want, got)
}

// acknowledged collects the acknowledged creates of several clients.
type acknowledged struct {
	mu    sync.Mutex
	names map[petcat.CategoryID]string // guarded by mu
}

// create creates a category, and checks that its id is new.
func (a *acknowledged) create(t *testing.T, s petcat.CategoryStore, name string) {
	t.Helper()
	created, err := s.CreateCategory(t.Context(), petcat.CreateCategory{
		Account: 1,
		New:     category(t, name, nil),
	})
	if err != nil {
		t.Errorf("create: %v", err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, twice := a.names[created.Category.ID]; twice {
		t.Errorf("id %d was assigned twice", created.Category.ID)
	}
	if a.names == nil {
		a.names = make(map[petcat.CategoryID]string)
	}
	a.names[created.Category.ID] = name
}

// wantStored checks that a store has the n acknowledged categories, with revisions in the order of
// their ids, and returns them.
func (a *acknowledged) wantStored(t *testing.T, s petcat.CategoryStore, n int) []petcat.RevisedCategory {
	t.Helper()
	stored := categories(t, s)
	wantEqual(t, "the number of categories", n, len(stored))
	var last petcat.Revision
	for _, c := range stored {
		if a.names[c.ID] != c.Name {
			t.Fatalf("category %d is %q, acknowledged as %q", c.ID, c.Name, a.names[c.ID])
		}
		if c.Revision <= last {
			t.Fatalf("category %d has revision %d after %d", c.ID, c.Revision, last)
		}
		last = c.Revision
	}
	return stored
}

func testStreamStops(t *testing.T, open Open) {
	f := start(t, open)
	for range 3 {
		f.create(t, "Dogs", nil)
	}
	enough := errors.New("enough")
	seen := 0
	err := f.EachCategory(t.Context(), func(petcat.RevisedCategory) error {
		seen++
		if seen == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || seen != 2 {
		t.Errorf("stopped with %v after %d, want %v after 2", err, seen, enough)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	ignore := func(petcat.RevisedCategory) error { return nil }
	if err := f.EachCategory(gone, ignore); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: got %v, want its error", err)
	}
}

// startHandingOver returns a store and a function that returns the committed categories.
func startHandingOver(t *testing.T, open OpenOwn) (_ *fixture, handed func() []petcat.RevisedCategory) {
	t.Helper()
	var mu sync.Mutex
	var all []petcat.RevisedCategory
	s := open(t, t.TempDir(), clocktest.NewManual(noon), func(group []petcat.RevisedCategory) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, group...)
	})
	return &fixture{Store: s}, func() []petcat.RevisedCategory {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func testHandedOver(t *testing.T, open OpenOwn) {
	s, handed := startHandingOver(t, open)
	var wg sync.WaitGroup
	n := category(t, "Dogs", nil)
	for range 16 {
		wg.Go(func() {
			for range 10 {
				created, err := s.CreateCategory(t.Context(), petcat.CreateCategory{
					Account: 1,
					New:     n,
				})
				same := func(c petcat.RevisedCategory) bool { return c.ID == created.Category.ID }
				if known := slices.ContainsFunc(handed(), same); err != nil || !known {
					t.Errorf("create returned %v; committed before: %v", err, known)
				}
			}
		})
	}
	wg.Wait()
	wantEqual(t, "the committed categories", categories(t, s), handed())
}
