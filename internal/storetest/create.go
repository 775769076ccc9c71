package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/store"
)

func testCreates(t *testing.T, open Open) {
	t.Run("a bad create does not disturb its group", func(t *testing.T) { testBadCreates(t, open) })
	t.Run("one key twice in a group", func(t *testing.T) { testKeyTwiceInGroup(t, open) })
	t.Run("a large group is stored in order", func(t *testing.T) { testLargeGroup(t, open) })
	t.Run("good and bad creates concurrently", func(t *testing.T) { testCreatesInParallel(t, open) })
}

// commitGroup commits creates as one group.
func (f *fixture) commitGroup(t *testing.T, group []*store.Create) {
	t.Helper()
	err := f.Change(t.Context(), "commit a group", func(tx *store.Tx) error { return tx.CreateAll(group) })
	if err != nil {
		t.Fatal(err)
	}
}

// testBadCreates: the other creates of a group are stored, with the ids that they would have without
// the bad ones.
func testBadCreates(t *testing.T, open Open) {
	const dogs, rex, none = 1, 1, 99
	f := start(t, open)
	f.stock(t, 1)
	used := petcat.CreatePet{Account: 1, New: newPet(t, "Max", dogs), IdempotencyKey: "used"}
	must(f.CreatePet(t.Context(), used))
	rejected := petcat.Errorf(petcat.CodePreconditionFailed, "not now")
	cases := []struct {
		name     string
		create   store.Create
		id       int64
		replayed bool
		code     petcat.Code
	}{
		{
			name:   "a category",
			create: store.Create{New: category(t, "Cats", nil)},
			id:     2,
		},
		{
			name:   "a category that is rejected",
			create: store.Create{New: category(t, "Birds", nil), Rejected: rejected},
			code:   petcat.CodePreconditionFailed,
		},
		{
			name:   "a pet of no category",
			create: store.Create{New: newPet(t, "Bad", none), Key: "a"},
			code:   petcat.CodeInvalidField,
		},
		{
			name:   "a pet of a category that is created in the same group",
			create: store.Create{New: newPet(t, "Bad", 2)},
			code:   petcat.CodeInvalidField,
		},
		{
			name:   "a pet",
			create: store.Create{New: newPet(t, "Bella", dogs), Key: "b"},
			id:     3,
		},
		{
			name:   "an order of no pet",
			create: store.Create{New: newOrder(t, none, 1), Key: "c"},
			code:   petcat.CodeInvalidField,
		},
		{
			name:   "an order of a pet that is created in the same group",
			create: store.Create{New: newOrder(t, 3, 1)},
			code:   petcat.CodeInvalidField,
		},
		{
			name:   "an order",
			create: store.Create{New: newOrder(t, rex, 7), Key: "d"},
			id:     1,
		},
		{
			name:     "a replay",
			create:   store.Create{New: used.New, Key: "used"},
			id:       2,
			replayed: true,
		},
		{
			name:     "a replay that would be rejected",
			create:   store.Create{New: used.New, Key: "used", Rejected: rejected},
			id:       2,
			replayed: true,
		},
		{
			name:   "another pet with a used key",
			create: store.Create{New: newPet(t, "Bad", dogs), Key: "used"},
			code:   petcat.CodeIdempotencyKeyReused,
		},
		{
			name:   "an order with the key of a pet",
			create: store.Create{New: newOrder(t, rex, 1), Key: "used"},
			code:   petcat.CodeIdempotencyKeyReused,
		},
		{
			name:   "a pet with the key of a bad create",
			create: store.Create{New: newPet(t, "Coco", dogs), Key: "a"},
			id:     4,
		},
	}
	var group []*store.Create
	for _, c := range cases {
		c.create.Account = 1
		group = append(group, &c.create)
	}
	f.commitGroup(t, group)
	for i, c := range cases {
		created := group[i]
		wantEqual(t, "the error of "+c.name, c.code, petcat.CodeOf(created.Outcome))
		wantEqual(t, "the id of "+c.name, c.id, created.ID)
		wantEqual(t, c.name+", replayed", c.replayed, created.Replayed)
	}
	wantEqual(t, "categories", []string{"Dogs", "Cats"}, Names(t, f))
	wantEqual(t, "pets", []petcat.Pet{
		{ID: 1, Name: "Rex", Category: dogs},
		{ID: 2, Name: "Max", Category: dogs},
		{ID: 3, Name: "Bella", Category: dogs},
		{ID: 4, Name: "Coco", Category: dogs},
	}, f.pets(t, petcat.PetQuery{Limit: 10}))
	wantEqual(t, "orders", []petcat.Order{
		{ID: 1, Pet: rex, Quantity: 7},
	}, f.orders(t, petcat.OrderQuery{Account: 1, Limit: 10}))
	wantEqual(t, "the next pet", 5, f.pet(t, "Daisy", dogs).ID)
}

// testKeyTwiceInGroup: if a client disconnects and retries at once, both creates may be in one group.
func testKeyTwiceInGroup(t *testing.T, open Open) {
	f := start(t, open)
	f.stock(t, 1)
	for _, n := range []store.NewResource{category(t, "Cats", nil), newPet(t, "Max", 1), newOrder(t, 1, 1)} {
		key := petcat.IdempotencyKey(fmt.Sprintf("%T", n))
		first := &store.Create{Account: 1, New: n, Key: key}
		second := &store.Create{Account: 1, New: n, Key: key}
		other := &store.Create{Account: 2, New: n, Key: key}
		f.commitGroup(t, []*store.Create{first, second, other})
		if first.Outcome != nil || other.Outcome != nil || other.ID != first.ID+1 {
			t.Errorf("%T: got %+v, and for another account %+v", n, first, other)
		}
		wantCode(t, second.Outcome, petcat.CodeIdempotencyInProgress)
		f.commitGroup(t, []*store.Create{second})
		if second.Outcome != nil || !second.Replayed || second.ID != first.ID {
			t.Errorf("%T: the retry got %+v, want a replay of %d", n, second, first.ID)
		}
	}
}

// testLargeGroup: ids and revisions have the order of the group, in which the kinds are mixed.
func testLargeGroup(t *testing.T, open Open) {
	const each = 100
	f := start(t, open)
	f.stock(t, 1)
	var group []*store.Create
	var names []string
	var pets []petcat.Pet
	var orders []petcat.Order
	for i := range each {
		name, id := fmt.Sprint("number ", i), i+2
		group = append(group,
			&store.Create{Account: 1, New: category(t, name, &name)},
			&store.Create{Account: 1, New: newPet(t, name, 1)},
			&store.Create{Account: 1, New: newOrder(t, 1, int64(i+1))},
		)
		names = append(names, name)
		pets = append(pets, petcat.Pet{ID: petcat.PetID(id), Name: name, Category: 1})
		orders = append(orders, petcat.Order{ID: petcat.OrderID(i + 1), Pet: 1, Quantity: int64(i + 1)})
	}
	for i, c := range group {
		c.Key = petcat.IdempotencyKey(fmt.Sprint("k", i))
	}
	f.commitGroup(t, group)
	for _, c := range group {
		if c.Outcome != nil || c.Replayed {
			t.Fatalf("got %+v", c)
		}
	}
	wantEqual(t, "categories", append([]string{"Dogs"}, names...), Names(t, f))
	wantEqual(t, "pets", pets, f.pets(t, petcat.PetQuery{After: 1, Limit: 2 * each}))
	wantEqual(t, "orders", orders, f.orders(t, petcat.OrderQuery{Account: 1, Limit: 2 * each}))
	var last petcat.Revision
	for _, c := range categories(t, f) {
		if c.Revision <= last {
			t.Errorf("category %d has revision %d after %d", c.ID, c.Revision, last)
		}
		last = c.Revision
	}
	var ids []int64
	for _, c := range group {
		ids = append(ids, c.ID)
	}
	f.commitGroup(t, group)
	for i, c := range group {
		if c.Outcome != nil || !c.Replayed || c.ID != ids[i] {
			t.Errorf("the replay of %d got %+v", ids[i], c)
		}
	}
}

// testCreatesInParallel: clients of two processes create pets and orders with keys, half of them bad.
func testCreatesInParallel(t *testing.T, open Open) {
	const clients, each, none = 16, 10, 1 << 40
	f := start(t, open)
	f.stock(t, 1)
	stores := []*store.Store{f.Store, f.another(t)}
	goodPet, badPet := newPet(t, "Rex", 1), newPet(t, "Bad", none)
	goodOrder, badOrder := newOrder(t, 1, 1), newOrder(t, none, 1)
	pet := func(s *store.Store, n petcat.NewPet, key string) error {
		create := petcat.CreatePet{Account: 1, New: n, IdempotencyKey: petcat.IdempotencyKey(key)}
		_, err := s.CreatePet(t.Context(), create)
		return err
	}
	order := func(s *store.Store, n petcat.NewOrder, key string) error {
		create := petcat.CreateOrder{Account: 1, New: n, IdempotencyKey: petcat.IdempotencyKey(key)}
		_, err := s.CreateOrder(t.Context(), create)
		return err
	}
	var all sync.WaitGroup
	for client := range clients {
		s := stores[client%2]
		all.Go(func() {
			for i := range each {
				key := fmt.Sprintf("%d-%d-", client, i)
				if err := errors.Join(pet(s, goodPet, key+"a"), order(s, goodOrder, key+"b")); err != nil {
					t.Error(err)
				}
				for _, err := range []error{pet(s, badPet, key+"c"), order(s, badOrder, key+"d")} {
					if petcat.CodeOf(err) != petcat.CodeInvalidField {
						t.Errorf("a create that refers to nothing: %v", err)
					}
				}
			}
		})
	}
	all.Wait()
	const good = clients * each
	pets := f.pets(t, petcat.PetQuery{Limit: 2 * good})
	wantEqual(t, "pets", good+1, len(pets))
	wantEqual(t, "the last pet's id", good+1, pets[good].ID)
	orders := f.orders(t, petcat.OrderQuery{Account: 1, Limit: 2 * good})
	wantEqual(t, "orders", good, len(orders))
	wantEqual(t, "the last order's id", good, orders[good-1].ID)
}
