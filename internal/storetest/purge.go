package storetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

func testPurges(t *testing.T, open Open) {
	t.Run("everything of one account", func(t *testing.T) { testPurge(t, open) })
	t.Run("more rows than a transaction deletes", func(t *testing.T) { testLargePurge(t, open) })
	t.Run("an interrupted purge is finished", func(t *testing.T) { testInterruptedPurge(t, open) })
	t.Run("during creates", func(t *testing.T) { testPurgeDuringCreates(t, open) })
}

// possessions are what accounts created, by id.
type possessions struct {
	Categories []petcat.CategoryID
	Pets       []petcat.PetID
	Orders     []petcat.OrderID
}

// possessions returns all categories and pets, and the orders of the accounts 1 and 2.
func (f *fixture) possessions(t *testing.T) (all possessions) {
	t.Helper()
	err := f.EachCategory(t.Context(), func(c petcat.RevisedCategory) error {
		if !c.Deleted {
			all.Categories = append(all.Categories, c.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.pets(t, petcat.PetQuery{Limit: 10_000}) {
		all.Pets = append(all.Pets, p.ID)
	}
	for _, account := range []petcat.AccountID{1, 2} {
		for _, o := range must(f.ListOrders(t.Context(), petcat.OrderQuery{Account: account, Limit: 10_000})) {
			all.Orders = append(all.Orders, o.ID)
		}
	}
	return all
}

// createAll creates resources of an account in one transaction.
func (f *fixture) createAll(t *testing.T, account petcat.AccountID, all ...store.NewResource) {
	t.Helper()
	group := make([]*store.Create, len(all))
	for i, n := range all {
		group[i] = &store.Create{Account: account, New: n}
	}
	err := f.Change(t.Context(), "create", func(tx *store.Tx) error { return tx.CreateAll(group) })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range group {
		if c.Outcome != nil {
			t.Fatal(c.Outcome)
		}
	}
}

func order(t *testing.T, pet petcat.PetID) petcat.NewOrder {
	t.Helper()
	return must(petcat.ParseNewOrder(&pet, new(int64(1))))
}

func (f *fixture) purge(t *testing.T, by petcat.Author, account petcat.AccountID) petcat.Result[petcat.Purge] {
	t.Helper()
	return must(f.PurgeAccount(t.Context(), by, account))
}

// testPurge: an account's categories, pets and orders are deleted, also in other accounts' categories and
// after it was closed. What others created stays.
func testPurge(t *testing.T, open Open) {
	f := start(t, open)
	for _, name := range []string{"rubbish", "acme"} {
		f.account(t, name)
	}
	f.createAll(t, 1, category(t, "1", nil), category(t, "2", nil), category(t, "3", nil))
	f.createAll(t, 2, category(t, "4", nil))
	if err := f.remove(t, 3); err != nil {
		t.Fatal(err)
	}
	f.createAll(t, 1, newPet(t, "1", 1), newPet(t, "2", 4), newPet(t, "3", 1))
	f.createAll(t, 2, newPet(t, "4", 1), newPet(t, "5", 4))
	f.createAll(t, 1, order(t, 5))
	f.createAll(t, 2, order(t, 1))
	must(f.CloseAccount(t.Context(), petcat.By(operator), 1))

	want := petcat.Purge{Account: 1, Categories: 2, Pets: 3, Orders: 1}
	wantEqual(t, "the purge", petcat.Result[petcat.Purge]{Value: want}, f.purge(t, petcat.By(operator), 1))
	left := possessions{
		Categories: []petcat.CategoryID{4},
		Pets:       []petcat.PetID{4, 5},
		Orders:     []petcat.OrderID{2},
	}
	wantEqual(t, "what is left", left, f.possessions(t))
	lines := f.auditLines(t)
	wantEqual(t, "the audit entry", `cli:ada account.purge acct_1 `+
		`{"categories":2,"last_category":4,"last_order":2,"last_pet":5,"orders":1,"pets":3}`, lines[len(lines)-1])
	wantEqual(t, "the texts of a deleted category", petcat.Category{ID: 1}, f.byID(t)[1].Category)

	wantEqual(t, "another purge", petcat.Purge{Account: 1}, f.purge(t, petcat.By(operator), 1).Value)
	_, err := f.PurgeAccount(t.Context(), petcat.By(operator), 3)
	wantCode(t, err, petcat.CodeNotFound)
}

func testLargePurge(t *testing.T, open Open) {
	const many = 1_234
	f := start(t, open)
	f.account(t, "rubbish")
	var categories, pets, orders []store.NewResource
	for i := range many {
		categories = append(categories, category(t, fmt.Sprint(i), nil))
		pets = append(pets, newPet(t, fmt.Sprint(i), petcat.CategoryID(1+i%7)))
		orders = append(orders, order(t, petcat.PetID(1+i)))
	}
	f.createAll(t, 1, categories...)
	f.createAll(t, 1, pets...)
	f.createAll(t, 1, orders...)
	want := petcat.Purge{Account: 1, Categories: many, Pets: many, Orders: many}
	wantEqual(t, "the purge", want, f.purge(t, petcat.By(operator), 1).Value)
	wantEqual(t, "what is left", possessions{}, f.possessions(t))
}

// testInterruptedPurge: a retry deletes what an earlier request with the same key has left, and returns
// the same numbers. It leaves what was created after the earlier request.
func testInterruptedPurge(t *testing.T, open Open) {
	f := start(t, open)
	f.account(t, "rubbish")
	by := petcat.Author{Actor: operator, Key: "k", Request: "purge"}
	f.createAll(t, 1, category(t, "1", nil), category(t, "2", nil))
	f.createAll(t, 1, newPet(t, "1", 1))
	f.createAll(t, 1, order(t, 1))
	first := f.purge(t, by, 1)
	wantEqual(t, "the purge", petcat.Result[petcat.Purge]{
		Value: petcat.Purge{Account: 1, Categories: 2, Pets: 1, Orders: 1},
	}, first)

	// As if it had stopped after the first transaction.
	err := f.Change(t.Context(), "restore", func(tx *store.Tx) error {
		for _, statement := range []string{
			`UPDATE categories SET deleted_at = NULL WHERE id = 2`,
			`INSERT INTO pets (id, name, category_id, account_id, created_at) VALUES (1, '1', 1, 1, 0)`,
			`INSERT INTO orders (id, account_id, pet_id, quantity, created_at) VALUES (1, 1, 1, 1, 0)`,
		} {
			if err := tx.Run(statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.createAll(t, 1, category(t, "3", nil))
	f.createAll(t, 1, newPet(t, "2", 3))
	f.createAll(t, 1, order(t, 2))
	entries := f.auditLines(t)
	for _, s := range []*store.Store{f.Store, f.another(t)} {
		first.Replayed = true
		wantEqual(t, "the retry", first, must(s.PurgeAccount(t.Context(), by, 1)))
	}
	left := possessions{
		Categories: []petcat.CategoryID{3},
		Pets:       []petcat.PetID{2},
		Orders:     []petcat.OrderID{2},
	}
	wantEqual(t, "what is left", left, f.possessions(t))
	wantEqual(t, "the audit log", entries, f.auditLines(t))
}

// testPurgeDuringCreates: an account creates categories and pets on two processes during its purge.
// Exactly what it created after the beginning of the purge stays.
func testPurgeDuringCreates(t *testing.T, open Open) {
	const clients, each = 4, 40
	f := start(t, open)
	f.account(t, "rubbish")
	stores := []*store.Store{f.Store, f.another(t)}
	home := f.create(t, "home", nil).ID
	var all sync.WaitGroup
	var mu sync.Mutex
	var created possessions
	for client := range clients {
		all.Go(func() {
			s := stores[client%2]
			for range each {
				more := petcat.CreateCategory{Account: 1, New: category(t, "more", nil)}
				c, err := s.CreateCategory(t.Context(), more)
				if err != nil {
					t.Error(err)
					return
				}
				p, err := s.CreatePet(t.Context(), petcat.CreatePet{
					Account: 1,
					New:     newPet(t, "Rex", home),
				})
				if code := petcat.CodeOf(err); code != "" && code != petcat.CodeInvalidField { // home is gone
					t.Error(err)
				}
				mu.Lock()
				created.Categories = append(created.Categories, c.Category.ID)
				if err == nil {
					created.Pets = append(created.Pets, p.Pet.ID)
				}
				mu.Unlock()
			}
		})
	}
	purged := f.purge(t, petcat.By(operator), 1)
	all.Wait()

	lines := f.audit(t)
	var began struct {
		LastCategory petcat.CategoryID `json:"last_category"`
		LastPet      petcat.PetID      `json:"last_pet"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1].Detail), &began); err != nil {
		t.Fatal(err)
	}
	left := f.possessions(t)
	for _, id := range left.Categories {
		if id <= began.LastCategory {
			t.Errorf("category %d is left, from before the purge, which began after %d", id, began.LastCategory)
		}
	}
	for _, id := range left.Pets {
		if id <= began.LastPet {
			t.Errorf("pet %d is left, from before the purge, which began after %d", id, began.LastPet)
		}
	}
	gone := purged.Value
	wantEqual(t, "purged and left categories", 1+len(created.Categories), int(gone.Categories)+len(left.Categories))
	wantEqual(t, "purged and left pets", len(created.Pets), int(gone.Pets)+len(left.Pets))
}
