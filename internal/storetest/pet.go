package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

func testPets(t *testing.T, open Open) {
	t.Run("names are stored exactly, in the order of creation", func(t *testing.T) { testPetNames(t, open) })
	t.Run("an account cannot delete a category of its pets", func(t *testing.T) { testCategoryInUse(t, open) })
	t.Run("pets of others do not keep a category", func(t *testing.T) { testPetsOfOthers(t, open) })
	t.Run("deletions", func(t *testing.T) { testPetDeletions(t, open) })
	t.Run("creates during the deletion of the category", func(t *testing.T) { testPetsAgainstDeletions(t, open) })
	t.Run("pages", func(t *testing.T) { testPetPages(t, open) })
}

func newPet(t *testing.T, name string, category petcat.CategoryID) petcat.NewPet {
	t.Helper()
	return must(petcat.ParseNewPet(&name, &category))
}

// pet creates a pet of account 1.
func (f *fixture) pet(t *testing.T, name string, category petcat.CategoryID) petcat.Pet {
	t.Helper()
	created := must(f.CreatePet(t.Context(), petcat.CreatePet{
		Account: 1,
		New:     newPet(t, name, category),
	}))
	wantEqual(t, "replayed", false, created.Replayed)
	return created.Pet
}

func (f *fixture) pets(t *testing.T, q petcat.PetQuery) []petcat.Pet {
	t.Helper()
	return must(f.ListPets(t.Context(), q))
}

func (f *fixture) remove(t *testing.T, id petcat.CategoryID) error {
	t.Helper()
	return f.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: id, Account: 1})
}

func testPetNames(t *testing.T, open Open) {
	f := start(t, open)
	wantEqual(t, "pets of an empty store", 0, len(f.pets(t, petcat.PetQuery{Limit: 10})))
	category := f.create(t, "Dogs", nil).ID
	var want []petcat.Pet
	for _, name := range append(slices.Clone(naughty), "Rex", "Rex") { // names need not be unique
		p := petcat.Pet{ID: petcat.PetID(len(want) + 1), Name: name, Category: category}
		wantEqual(t, "the result", p, f.pet(t, name, category))
		want = append(want, p)
	}
	for _, s := range []*store.Store{f.Store, f.another(t)} {
		for _, p := range want {
			found := must(s.FindPet(t.Context(), p.ID))
			wantEqual(t, "the pet", p, found)
		}
		listed := must(s.ListPets(t.Context(), petcat.PetQuery{Limit: 1_000}))
		wantEqual(t, "the list", want, listed)
		for _, id := range []petcat.PetID{-1, 0, petcat.PetID(len(want) + 1)} {
			_, err := s.FindPet(t.Context(), id)
			wantCode(t, err, petcat.CodeNotFound)
		}
	}
}

func testCategoryInUse(t *testing.T, open Open) {
	f := start(t, open)
	used, free := f.create(t, "Dogs", nil), f.create(t, "Cats", nil)
	f.pet(t, "Rex", used.ID)
	wantCode(t, f.remove(t, used.ID), petcat.CodeCategoryInUse)
	for code, remove := range map[petcat.Code]petcat.DeleteCategory{
		petcat.CodeForbidden:          {ID: used.ID, Account: 2},
		petcat.CodePreconditionFailed: {ID: used.ID, Account: 1, Expected: &free},
	} {
		wantCode(t, f.DeleteCategory(t.Context(), remove), code)
	}
	wantEqual(t, "the category", used, f.byID(t)[used.ID].Category)
	if err := f.remove(t, free.ID); err != nil {
		t.Errorf("a category without pets: %v", err)
	}
	name := "Hounds"
	f.update(t, petcat.UpdateCategory{ID: used.ID, Account: 1, Patch: patch(t, &name, nil, false)})
	if err := f.DeletePet(t.Context(), petcat.DeletePet{ID: 1, Account: 1}); err != nil {
		t.Fatal(err)
	}
	if err := f.remove(t, used.ID); err != nil {
		t.Errorf("after the deletion of its pet: %v", err)
	}
}

// testPetsOfOthers: an account's pet stops neither the creator of its category nor an operator from
// deleting the category. The pet keeps the category's id.
func testPetsOfOthers(t *testing.T, open Open) {
	f := start(t, open)
	var want []petcat.Pet
	for _, by := range []petcat.AccountID{1, 0} {
		category := f.create(t, "Dogs", nil).ID
		rex := must(f.CreatePet(t.Context(), petcat.CreatePet{
			Account: 2,
			New:     newPet(t, "Rex", category),
		}))
		want = append(want, rex.Pet)
		if by == 0 { // also the creator's own pet
			want = append(want, f.pet(t, "Max", category))
		}
		if err := f.DeleteCategory(t.Context(), petcat.DeleteCategory{ID: category, Account: by}); err != nil {
			t.Fatalf("account %d: %v", by, err)
		}
		_, err := f.CreatePet(t.Context(), petcat.CreatePet{
			Account: 2,
			New:     newPet(t, "Rex", category),
		})
		wantCode(t, err, petcat.CodeInvalidField)
	}
	wantEqual(t, "the pets", want, f.pets(t, petcat.PetQuery{Limit: 10}))
	wantEqual(t, "the pets of the second category", want[1:], f.pets(t, petcat.PetQuery{Category: 2, Limit: 10}))
}

// testPetDeletions: only the creator of a pet and operators may delete it. Orders keep its id, which is
// not reused.
func testPetDeletions(t *testing.T, open Open) {
	f := start(t, open)
	category := f.create(t, "Dogs", nil).ID
	rex, tom, third := f.pet(t, "Rex", category), f.pet(t, "Tom", category), f.pet(t, "Max", category)
	newOrder := must(petcat.ParseNewOrder(&third.ID, new(int64(2))))
	ordered := must(f.CreateOrder(t.Context(), petcat.CreateOrder{Account: 2, New: newOrder}))
	wantCode(t, f.DeletePet(t.Context(), petcat.DeletePet{ID: third.ID, Account: 2}), petcat.CodeForbidden)
	for _, d := range []petcat.DeletePet{{ID: third.ID, Account: 1}, {ID: rex.ID, By: operator}} {
		if err := f.DeletePet(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		wantCode(t, f.DeletePet(t.Context(), d), petcat.CodeNotFound)
		_, err := f.FindPet(t.Context(), d.ID)
		wantCode(t, err, petcat.CodeNotFound)
	}
	wantEqual(t, "the pets", []petcat.Pet{tom}, f.pets(t, petcat.PetQuery{Limit: 10}))
	wantEqual(t, "the next id", third.ID+1, f.pet(t, "Rex", category).ID)
	orders := must(f.ListOrders(t.Context(), petcat.OrderQuery{Account: 2, Limit: 10}))
	wantEqual(t, "the order", []petcat.Order{ordered.Order}, orders)
	_, err := f.CreateOrder(t.Context(), petcat.CreateOrder{Account: 2, New: newOrder})
	wantCode(t, err, petcat.CodeInvalidField)
	wantEqual(t, "audit entries of operators",
		[]string{`cli:ada pet.delete pet_1 {"account":"acct_1","name":"Rex"}`}, f.auditLines(t))
}

// testPetsAgainstDeletions: two processes create pets of an account while the account deletes their
// category. No pet remains in a deleted category.
func testPetsAgainstDeletions(t *testing.T, open Open) {
	const rounds, clients = 10, 4
	f := start(t, open)
	stores := []*store.Store{f.Store, f.another(t)}
	for round := range rounds {
		category := f.create(t, "Dogs", nil).ID
		n := newPet(t, fmt.Sprint("Rex ", round), category)
		var all sync.WaitGroup
		var mu sync.Mutex
		created := 0
		for client := range clients {
			all.Go(func() {
				_, err := stores[client%2].CreatePet(t.Context(), petcat.CreatePet{
					Account: 1,
					New:     n,
				})
				switch petcat.CodeOf(err) {
				case "":
					mu.Lock()
					created++
					mu.Unlock()
				case petcat.CodeInvalidField:
				default:
					t.Errorf("create: %v", err)
				}
			})
		}
		var deletion error
		all.Go(func() { deletion = f.remove(t, category) })
		all.Wait()
		there := len(f.pets(t, petcat.PetQuery{Category: category, Limit: 10}))
		wantEqual(t, "stored pets", created, there)
		want := petcat.Code("")
		if there > 0 {
			want = petcat.CodeCategoryInUse
		}
		wantCode(t, deletion, want)
	}
}

func testPetPages(t *testing.T, open Open) {
	f := start(t, open)
	var every []petcat.Pet
	of := make(map[petcat.CategoryID][]petcat.Pet)
	for i := range 3 {
		f.create(t, fmt.Sprint(i), nil)
	}
	for i := range 25 {
		category := petcat.CategoryID(1 + i*i%3) // 1 or 2; 3 stays empty
		p := f.pet(t, fmt.Sprint(i), category)
		every, of[category] = append(every, p), append(of[category], p)
	}
	for category := range petcat.CategoryID(5) {
		want := of[category]
		if category == 0 {
			want = every
		}
		for _, limit := range []int{1, 7, len(want), len(want) + 1, 1_001} {
			if limit == 0 {
				continue
			}
			var walked []petcat.Pet
			for q := (petcat.PetQuery{Category: category, Limit: limit}); ; {
				page := f.pets(t, q)
				if len(page) > limit {
					t.Fatalf("a page of %d has %d pets", limit, len(page))
				}
				walked = append(walked, page...)
				if len(page) < limit {
					break
				}
				q.After = page[len(page)-1].ID
			}
			wantEqual(t, fmt.Sprintf("category %d in pages of %d", category, limit), want, walked)
		}
	}
	wantEqual(t, "after the last pet", 0, len(f.pets(t, petcat.PetQuery{After: 1<<53 - 1, Limit: 10})))
}
