// Command client uses the service through the client in api.gen.go, which oapi-codegen
// makes of the served document, and prints what came back. Its arguments are the base
// URL of the API, a key, and a key whose day is spent.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/oapi-codegen/nullable"
)

func main() {
	ctx := context.Background()
	api, spent := clientOf(os.Args[1], os.Args[2]), clientOf(os.Args[1], os.Args[3])

	before := must(api.ListCategoriesWithResponse(ctx, nil))

	idempotencyKey, description := "8e03978e-40d5-43dd-bc93-6894a57f9324", "Not dogs"
	once := &CreateCategoryParams{IdempotencyKey: &idempotencyKey}
	wolves := NewCategory{Name: "Wolves", Description: &description}
	created := must(api.CreateCategoryWithResponse(ctx, once, wolves))
	repeated := must(api.CreateCategoryWithResponse(ctx, once, wolves))

	id := present(created.JSON201, created).Id
	got := must(api.GetCategoryWithResponse(ctx, id, nil))
	unchanged := &UpdateCategoryParams{IfMatch: &present(got.Headers200, got).ETag}
	patch := CategoryPatch{Description: nullable.NewNullNullable[string]()}
	updated := must(api.UpdateCategoryWithApplicationMergePatchPlusJSONBodyWithResponse(ctx, id, unchanged, patch))
	stale := must(api.UpdateCategoryWithApplicationMergePatchPlusJSONBodyWithResponse(ctx, id, unchanged, patch))

	// A NewCategory always has a name: this needs a body of one's own.
	unnamed := must(api.CreateCategoryWithBodyWithResponse(ctx, nil, "application/json", strings.NewReader(`{"description": "?"}`)))

	usage := must(api.GetUsageWithResponse(ctx))
	var windows []string
	for _, window := range present(usage.JSON200, usage).Windows {
		windows = append(windows, window.Window)
	}
	rex := must(api.CreatePetWithResponse(ctx, nil, NewPet{Name: "Rex", CategoryId: id - 1}))
	pets := must(api.ListPetsWithResponse(ctx, &ListPetsParams{CategoryId: &present(rex.JSON201, rex).CategoryId}))
	ordered := must(api.CreateOrderWithResponse(ctx, nil, NewOrder{PetId: rex.JSON201.Id, Quantity: 2}))
	orders := must(api.ListOrdersWithResponse(ctx, nil))
	inUse := must(api.DeleteCategoryWithResponse(ctx, rex.JSON201.CategoryId, nil))

	deleted := must(api.DeleteCategoryWithResponse(ctx, id, nil))
	missing := must(api.GetCategoryWithResponse(ctx, id, nil))
	refused := must(spent.ListCategoriesWithResponse(ctx, nil))
	limits := present(refused.Headers429, refused)

	must(0, json.NewEncoder(os.Stdout).Encode(map[string]any{
		"before":     before.JSON200,
		"created":    created.JSON201,
		"repeated":   repeated.JSON201,
		"replayed":   present(repeated.Headers201, repeated).IdempotentReplayed,
		"got":        got.JSON200,
		"updated":    updated.JSON200,
		"stale":      stale.JSON412,
		"unnamed":    unnamed.JSON400,
		"plan":       usage.JSON200.Plan,
		"windows":    windows,
		"banned":     !usage.JSON200.Ban.IsNull(),
		"pets":       pets.JSON200,
		"ordered":    ordered.JSON201,
		"orders":     orders.JSON200,
		"inUse":      inUse.JSON409,
		"deleted":    deleted.StatusCode(),
		"missing":    missing.JSON404,
		"refused":    refused.JSON429,
		"limit":      limits.XRateLimitLimit,
		"remaining":  limits.XRateLimitRemaining,
		"reset":      limits.XRateLimitReset,
		"retryAfter": limits.RetryAfter,
	}))
}

// clientOf returns a client that sends a key.
func clientOf(baseURL, key string) *ClientWithResponses {
	return must(NewClientWithResponses(baseURL, WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+key)
		return nil
	})))
}

// must ends the program if a call got no answer.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// present ends the program if an answer lacks what its status declares.
func present[T any](part *T, answer interface{ GetBody() []byte }) *T {
	if part == nil {
		log.Fatalf("another answer: %s", answer.GetBody())
	}
	return part
}
