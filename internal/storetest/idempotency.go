package storetest

import (
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func testIdempotency(t *testing.T, open Open) {
	type created = petcat.CreatedCategory
	create := func(f *fixture, key petcat.IdempotencyKey, n petcat.NewCategory) (created, error) {
		return f.CreateCategory(t.Context(), petcat.CreateCategory{
			Account:        1,
			New:            n,
			IdempotencyKey: key,
		})
	}
	t.Run("a rejected create is still replayed", func(t *testing.T) {
		f := start(t, open)
		notNow := petcat.Errorf(petcat.CodePreconditionFailed, "not now")
		rejected := func(key petcat.IdempotencyKey, n petcat.NewCategory) (created, error) {
			create := petcat.CreateCategory{
				Account:        1,
				New:            n,
				IdempotencyKey: key,
				Rejected:       notNow,
			}
			return f.CreateCategory(t.Context(), create)
		}
		dogs := category(t, "Dogs", nil)
		for _, key := range []petcat.IdempotencyKey{"", "k"} {
			_, err := rejected(key, dogs)
			wantCode(t, err, petcat.CodePreconditionFailed)
		}
		wantEqual(t, "the number of categories", 0, len(categories(t, f)))
		first := must(create(f, "k", dogs))
		again := must(rejected("k", dogs))
		wantEqual(t, "the replay", created{Category: first.Category, Replayed: true}, again)
		_, err := rejected("k", category(t, "Cats", nil))
		wantCode(t, err, petcat.CodeIdempotencyKeyReused)
		wantEqual(t, "the number of categories", 1, len(categories(t, f)))
	})
	t.Run("keys are compared exactly", func(t *testing.T) {
		f := start(t, open)
		n := category(t, "Dogs", nil)
		longest := petcat.IdempotencyKey(strings.Repeat("~", petcat.MaxIdempotencyKey))
		keys := []petcat.IdempotencyKey{"k", "K", "k'", `"k"`, longest}
		for _, key := range keys {
			created := must(create(f, key, n))
			wantEqual(t, "replayed", false, created.Replayed)
		}
		wantEqual(t, "the number of categories", len(keys), len(categories(t, f)))
	})
}
