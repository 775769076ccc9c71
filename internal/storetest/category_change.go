package storetest

import (
	"strconv"
	"sync"
	"testing"

	"github.com/petcat-api/petcat"
)

func testCategoryChanges(t *testing.T, open Open) {
	t.Run("patches", func(t *testing.T) { testPatches(t, open) })
	t.Run("creators", func(t *testing.T) { testCreators(t, open) })
	t.Run("deletions are permanent", func(t *testing.T) { testDeletions(t, open) })
	t.Run("no lost updates", func(t *testing.T) { testExpected(t, open) })
	t.Run("a replay returns the created category", func(t *testing.T) { testReplayOfChanged(t, open) })
}

func patch(t *testing.T, name, description *string, removeDescription bool) petcat.CategoryPatch {
	t.Helper()
	return must(petcat.ParseCategoryPatch(name, description, removeDescription))
}

// create creates a category of account 1.
func (f *fixture) create(t *testing.T, name string, description *string) petcat.Category {
	t.Helper()
	create := petcat.CreateCategory{Account: 1, New: category(t, name, description)}
	return must(f.CreateCategory(t.Context(), create)).Category
}

func (f *fixture) update(t *testing.T, u petcat.UpdateCategory) petcat.Category {
	t.Helper()
	return must(f.UpdateCategory(t.Context(), u))
}

// byID returns all categories, including deleted ones.
func (f *fixture) byID(t *testing.T) map[petcat.CategoryID]petcat.RevisedCategory {
	t.Helper()
	all := make(map[petcat.CategoryID]petcat.RevisedCategory)
	for _, c := range categories(t, f) {
		all[c.ID] = c
	}
	return all
}

func testPatches(t *testing.T, open Open) {
	f := start(t, open)
	text := func(s string) *string { return &s }
	old, other := text("old"), f.create(t, "other", nil)
	for _, c := range []struct {
		name             string
		patch            petcat.CategoryPatch
		before, after    *string
		newName          string
		keepsItsRevision bool
	}{
		{"no change", patch(t, nil, nil, false), old, old, "Dogs", true},
		{"same values", patch(t, text("Dogs"), text("old"), false), old, old, "Dogs", true},
		{"name", patch(t, text("Cats"), nil, false), old, old, "Cats", false},
		{"description", patch(t, nil, text("new\n"), false), old, text("new\n"), "Dogs", false},
		{"empty description", patch(t, nil, text(""), false), old, text(""), "Dogs", false},
		{"no description", patch(t, nil, nil, true), old, nil, "Dogs", false},
		{"no description before", patch(t, nil, nil, true), nil, nil, "Dogs", true},
		{"both", patch(t, text("'; --"), text("犬"), false), nil, text("犬"), "'; --", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			made := f.create(t, "Dogs", c.before)
			before := f.byID(t)
			want := petcat.Category{ID: made.ID, Name: c.newName, Description: c.after}
			got := f.update(t, petcat.UpdateCategory{ID: made.ID, Account: 1, Patch: c.patch})
			wantEqual(t, "the result", want, got)
			after := f.byID(t)
			wantEqual(t, "the stored category", want, after[made.ID].Category)
			wantEqual(t, "same revision", c.keepsItsRevision, after[made.ID].Revision == before[made.ID].Revision)
			if after[made.ID].Revision < before[made.ID].Revision {
				t.Errorf("revision %d follows %d", after[made.ID].Revision, before[made.ID].Revision)
			}
			wantEqual(t, "another category", before[other.ID], after[other.ID])
		})
	}
}

func testCreators(t *testing.T, open Open) {
	f := start(t, open)
	c := f.create(t, "Dogs", nil)
	name := "Cats"
	change := petcat.UpdateCategory{ID: c.ID, Account: 2, Patch: patch(t, &name, nil, false)}
	_, err := f.UpdateCategory(t.Context(), change)
	wantCode(t, err, petcat.CodeForbidden)
	wantCode(t, f.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: c.ID, Account: 2}), petcat.CodeForbidden)
	wantEqual(t, "the category", c, f.byID(t)[c.ID].Category)
	origins, err := f.CategoryOrigins(t.Context(), []petcat.CategoryID{c.ID + 1, c.ID})
	want := []petcat.CategoryOrigin{{Category: c.ID, Account: 1, CreatedAt: f.clock.Read().Time()}}
	wantEqual(t, "the creator", want, must(origins, err))
	change.Account = 0 // an operator
	wantEqual(t, "a change by an operator", name, f.update(t, change).Name)
	if err := f.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: c.ID}); err != nil {
		t.Errorf("deletion by an operator: %v", err)
	}
}

func testDeletions(t *testing.T, open Open) {
	f := start(t, open)
	text := "secret"
	first, last := f.create(t, "Dogs", &text), f.create(t, "Cats", nil)
	remove := func(id petcat.CategoryID) error {
		return f.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: id, Account: 1})
	}
	for _, c := range []petcat.Category{last, first} {
		before := f.byID(t)
		if err := remove(c.ID); err != nil {
			t.Fatal(err)
		}
		gone := f.byID(t)[c.ID]
		wantEqual(t, "the deleted category", petcat.RevisedCategory{
			Category: petcat.Category{ID: c.ID},
			Revision: gone.Revision,
			Account:  1,
			Deleted:  true,
		}, gone)
		for _, other := range before {
			if gone.Revision <= other.Revision {
				t.Errorf("the deletion has the revision %d after %d", gone.Revision, other.Revision)
			}
		}
		wantCode(t, remove(c.ID), petcat.CodeNotFound)
		_, err := f.UpdateCategory(t.Context(), petcat.UpdateCategory{ID: c.ID, Account: 1})
		wantCode(t, err, petcat.CodeNotFound)
	}
	wantCode(t, remove(17), petcat.CodeNotFound)
	wantEqual(t, "the next id", last.ID+1, f.create(t, "Birds", nil).ID)
}

// testExpected has clients increment a number in a name conditionally: increments are not lost.
func testExpected(t *testing.T, open Open) {
	const clients, each = 8, 10
	f := start(t, open)
	c := f.create(t, "0", nil)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			seen := c
			for done := 0; done < each; {
				n, err := strconv.Atoi(seen.Name)
				if err != nil {
					t.Error(err)
					return
				}
				next := strconv.Itoa(n + 1)
				p, _ := petcat.ParseCategoryPatch(&next, nil, false)
				increment := petcat.UpdateCategory{ID: c.ID, Account: 1, Patch: p, Expected: &seen}
				changed, err := f.UpdateCategory(t.Context(), increment)
				switch petcat.CodeOf(err) {
				case "":
					seen, done = changed, done+1
				case petcat.CodePreconditionFailed:
					read := petcat.UpdateCategory{ID: c.ID, Account: 1} // an empty patch
					seen, err = f.UpdateCategory(t.Context(), read)
					if err != nil {
						t.Error(err)
						return
					}
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	now := f.byID(t)[c.ID].Category
	wantEqual(t, "the count", strconv.Itoa(clients*each), now.Name)
	remove := petcat.DeleteCategory{ID: c.ID, Account: 1, Expected: &c}
	wantCode(t, f.DeleteCategory(t.Context(), remove), petcat.CodePreconditionFailed)
	remove.Expected = &now
	wantCode(t, f.DeleteCategory(t.Context(), remove), "")
}

func testReplayOfChanged(t *testing.T, open Open) {
	f := start(t, open)
	f.account(t, "zoo")
	create := petcat.CreateCategory{
		Account:        1,
		New:            category(t, "Dogs", nil),
		IdempotencyKey: "once",
	}
	first := must(f.CreateCategory(t.Context(), create))
	id := first.Category.ID
	name := "Cats"
	f.update(t, petcat.UpdateCategory{ID: id, Account: 1, Patch: patch(t, &name, nil, false)})
	want := petcat.CreatedCategory{Category: first.Category, Replayed: true}
	again := must(f.CreateCategory(t.Context(), create))
	wantEqual(t, "after a change", want, again)
	if err := f.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: id, Account: 1}); err != nil {
		t.Fatal(err)
	}
	again = must(f.CreateCategory(t.Context(), create))
	wantEqual(t, "after a deletion", want, again)
}

// testChangesHandedOver: changes are passed to the callback before the operation returns.
func testChangesHandedOver(t *testing.T, open OpenOwn) {
	f, handed := startHandingOver(t, open)
	c, name := f.create(t, "Dogs", nil), "Cats"
	f.update(t, petcat.UpdateCategory{ID: c.ID, Account: 1, Patch: patch(t, &name, nil, false)})
	theirs := petcat.UpdateCategory{ID: c.ID, Account: 2, Patch: patch(t, &name, nil, true)}
	_, err := f.UpdateCategory(t.Context(), theirs)
	wantCode(t, err, petcat.CodeForbidden)
	if err := f.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: c.ID, Account: 1}); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "the committed changes", []petcat.RevisedCategory{
		{Category: petcat.Category{ID: 1, Name: "Dogs"}, Revision: 1, Account: 1},
		{Category: petcat.Category{ID: 1, Name: "Cats"}, Revision: 2, Account: 1},
		{Category: petcat.Category{ID: 1}, Revision: 3, Account: 1, Deleted: true},
	}, handed())
}

// testFeedOfChanges: the feed returns a changed category once, in its current state.
func testFeedOfChanges(t *testing.T, open Open) {
	all := nodes(t, open)
	writer, reader := &fixture{Store: all[0]}, all[1]
	a, b := writer.create(t, "a", nil), writer.create(t, "b", nil)
	seen := since(t, reader, 0)[1].Revision
	name := "A"
	for range 2 {
		name += "!"
		writer.update(t, petcat.UpdateCategory{
			ID:      a.ID,
			Account: 1,
			Patch:   patch(t, &name, nil, false),
		})
	}
	if err := writer.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: b.ID, Account: 1}); err != nil {
		t.Fatal(err)
	}
	c := writer.create(t, "c", nil)
	want := []petcat.RevisedCategory{
		{Category: petcat.Category{ID: a.ID, Name: "A!!"}, Revision: seen + 2, Account: 1},
		{Category: petcat.Category{ID: b.ID}, Revision: seen + 3, Account: 1, Deleted: true},
		{Category: c, Revision: seen + 4, Account: 1},
	}
	wantEqual(t, "the changes", want, since(t, reader, seen))
	wantEqual(t, "from the beginning", want, since(t, reader, 0))
}

// testOperatorChanges: operators' category changes are in the audit log, accounts' changes are not.
func testOperatorChanges(t *testing.T, open Open) {
	f := start(t, open)
	zoo := f.account(t, "zoo")
	const ada petcat.Actor = "operator ada"
	own := must(f.CreateCategory(t.Context(), petcat.CreateCategory{
		By:  ada,
		New: category(t, "Dogs", nil),
	}))
	theirs := must(f.CreateCategory(t.Context(), petcat.CreateCategory{
		Account: zoo.ID,
		New:     category(t, "Cats", nil),
	}))
	name := "Kittens"
	patch := must(petcat.ParseCategoryPatch(&name, nil, false))
	_, err := f.UpdateCategory(t.Context(), petcat.UpdateCategory{
		ID:      own.Category.ID,
		Account: zoo.ID,
		Patch:   patch,
	})
	wantCode(t, err, petcat.CodeForbidden)
	wantEqual(t, "the category", petcat.ManagedCategory{
		Category:  theirs.Category,
		Account:   zoo.ID,
		CreatedAt: f.now(),
	}, must(f.FindCategory(t.Context(), theirs.Category.ID)))
	for range 2 { // the second time has no effect
		must(f.UpdateCategory(t.Context(), petcat.UpdateCategory{
			ID:    theirs.Category.ID,
			By:    ada,
			Patch: patch,
		}))
	}
	pet := newPet(t, "Rex", theirs.Category.ID)
	must(f.CreatePet(t.Context(), petcat.CreatePet{Account: zoo.ID, New: pet}))
	for _, id := range []petcat.CategoryID{own.Category.ID, theirs.Category.ID} { // also with a pet
		if err := f.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: id, By: ada}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = f.FindCategory(t.Context(), theirs.Category.ID)
	wantCode(t, err, petcat.CodeNotFound)
	wantEqual(t, "audit entries", []string{
		`operator ada category.create category_1 {"name":"Dogs"}`,
		`operator ada category.update category_2 {"from":"Cats","name":"Kittens"}`,
		`operator ada category.delete category_1 {"name":"Dogs"}`,
		`operator ada category.delete category_2 {"name":"Kittens"}`,
	}, f.auditLines(t)[1:])
}
