package storetest

import (
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func testIdempotency(t *testing.T, open Open) {
	create := func(f *fixture, account petcat.AccountID, key petcat.IdempotencyKey, n petcat.NewCategory) (petcat.CreatedCategory, error) {
		return f.CreateCategory(t.Context(), petcat.CreateCategory{Account: account, New: n, IdempotencyKey: key})
	}
	t.Run("a rejected create is still replayed", func(t *testing.T) {
		f := start(t, open)
		rejected := func(key petcat.IdempotencyKey, n petcat.NewCategory) (petcat.CreatedCategory, error) {
			return f.CreateCategory(t.Context(), petcat.CreateCategory{
				Account: 1, New: n, IdempotencyKey: key, Rejected: petcat.Errorf(petcat.CodePreconditionFailed, "not now"),
			})
		}
		dogs := category(t, "Dogs", nil)
		for _, key := range []petcat.IdempotencyKey{"", "k"} {
			_, err := rejected(key, dogs)
			wantCode(t, err, petcat.CodePreconditionFailed)
		}
		wantEqual(t, "the number of categories", 0, len(categories(t, f)))
		first := must(create(f, 1, "k", dogs))
		again := must(rejected("k", dogs))
		wantEqual(t, "the replay", petcat.CreatedCategory{Category: first.Category, Replayed: true}, again)
		_, err := rejected("k", category(t, "Cats", nil))
		wantCode(t, err, petcat.CodeIdempotencyKeyReused)
		wantEqual(t, "the number of categories", 1, len(categories(t, f)))
	})
	t.Run("another request with the same key is rejected", func(t *testing.T) {
		f := start(t, open)
		must(create(f, 1, "k", category(t, "Dogs", nil)))
		empty := ""
		for _, other := range []petcat.NewCategory{category(t, "Cats", nil), category(t, "Dogs", &empty)} {
			_, err := create(f, 1, "k", other)
			wantCode(t, err, petcat.CodeIdempotencyKeyReused)
		}
		wantEqual(t, "the number of categories", 1, len(categories(t, f)))
	})
	t.Run("keys are compared exactly", func(t *testing.T) {
		f := start(t, open)
		n := category(t, "Dogs", nil)
		keys := []petcat.IdempotencyKey{"k", "K", "k'", `"k"`, petcat.IdempotencyKey(strings.Repeat("~", petcat.MaxIdempotencyKey))}
		for _, key := range keys {
			created := must(create(f, 1, key, n))
			wantEqual(t, "replayed", false, created.Replayed)
		}
		wantEqual(t, "the number of categories", len(keys), len(categories(t, f)))
	})
}
