package storetest

import (
	"testing"
	"time"

	"github.com/petcat-api/petcat"
)

func testBounds(t *testing.T, open Open) {
	t.Run("categories of an account", func(t *testing.T) { testCategoryBounds(t, open) })
	t.Run("pets and orders of an account", func(t *testing.T) { testRowBounds(t, open) })
	t.Run("old deletions are removed", func(t *testing.T) { testOldDeletions(t, open) })
}

// testCategoryBounds: a full account can only read, shorten and delete, and repeat what it has done.
func testCategoryBounds(t *testing.T, open Open) {
	f := start(t, open)
	const account = 7
	held := petcat.Holdings{}
	f.BoundCategories(func(id petcat.AccountID) petcat.Holdings {
		if id != account {
			return petcat.Holdings{All: held.All}
		}
		return held
	}, 1<<20)
	limit := petcat.Storage{Categories: 1, Bytes: 100}
	create := petcat.CreateCategory{
		Account:        account,
		New:            category(t, "Dogs", nil),
		IdempotencyKey: "dogs",
		Limit:          limit,
	}
	made, err := f.CreateCategory(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	held.Account = made.Category.Stored()

	again, err := f.CreateCategory(t.Context(), create)
	if err != nil || !again.Replayed {
		t.Errorf("a replay in a full account: %+v, %v", again, err)
	}
	for _, key := range []petcat.IdempotencyKey{"", "cats"} {
		create.New, create.IdempotencyKey = category(t, "Cats", nil), key
		_, err = f.CreateCategory(t.Context(), create)
		wantCode(t, err, petcat.CodeStorageLimitReached)
	}

	long, short := "a name that is too long for the hundred bytes", "Dog"
	update := petcat.UpdateCategory{
		ID:      made.Category.ID,
		Account: account,
		Patch:   patch(t, &long, nil, false),
		Limit:   limit,
	}
	_, err = f.UpdateCategory(t.Context(), update)
	wantCode(t, err, petcat.CodeStorageLimitReached)
	held.Account.Bytes = 1000 // the plan became smaller
	update.Patch = patch(t, &short, nil, false)
	if _, err := f.UpdateCategory(t.Context(), update); err != nil {
		t.Errorf("shorten: %v", err)
	}
	if err := f.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: made.Category.ID, Account: account}); err != nil {
		t.Errorf("delete: %v", err)
	}

	held.All.Bytes = 1 << 20
	operators := petcat.CreateCategory{New: category(t, "Cats", nil), By: "operator ada"}
	_, err = f.CreateCategory(t.Context(), operators)
	wantCode(t, err, petcat.CodeStorageLimitReached)
}

// testRowBounds: an account has as many pets, and as many orders, as it may have categories.
func testRowBounds(t *testing.T, open Open) {
	f := start(t, open)
	dogs := f.create(t, "Dogs", nil).ID
	limit := petcat.Storage{Categories: 2, Bytes: 1 << 20}
	pet := petcat.CreatePet{
		Account:        1,
		New:            newPet(t, "Rex", dogs),
		IdempotencyKey: "rex",
		Limit:          limit,
	}
	order := petcat.CreateOrder{
		Account: 1,
		New:     newOrder(t, 1, 1),
		Limit:   limit,
	}
	for i := range 2 {
		if _, err := f.CreatePet(t.Context(), pet); err != nil {
			t.Fatalf("pet %d: %v", i, err)
		}
		if _, err := f.CreateOrder(t.Context(), order); err != nil {
			t.Fatalf("order %d: %v", i, err)
		}
		pet.IdempotencyKey = ""
	}
	_, err := f.CreatePet(t.Context(), pet)
	wantCode(t, err, petcat.CodeStorageLimitReached)
	_, err = f.CreateOrder(t.Context(), order)
	wantCode(t, err, petcat.CodeStorageLimitReached)

	pet.IdempotencyKey = "rex"
	again, err := f.CreatePet(t.Context(), pet)
	if err != nil || !again.Replayed {
		t.Errorf("a replay in a full account: %+v, %v", again, err)
	}
	pet.Account = 2
	if _, err := f.CreatePet(t.Context(), pet); err != nil {
		t.Errorf("another account: %v", err)
	}
}

// testOldDeletions: the row of a deleted category is removed after 30 days, but the newest one, whose
// revision is in the ETag of the list.
func testOldDeletions(t *testing.T, open Open) {
	f := start(t, open)
	remove := func(name string) {
		t.Helper()
		made := f.create(t, name, nil)
		if err := f.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: made.ID, Account: 1}); err != nil {
			t.Fatal(err)
		}
	}
	remove("first")
	remove("second")
	clean := func() {
		t.Helper()
		if err := f.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f.clock.Advance(petcat.DeletionRetention - time.Minute)
	clean()
	f.wantRows(t, "categories", 2)
	f.clock.Advance(time.Minute)
	clean()
	f.wantRows(t, "categories", 1)
	wantEqual(t, "the revision", petcat.Revision(4), categories(t, f)[0].Revision)
}
