package petcat_test

import (
	"fmt"
	"time"

	"petcat"
)

// The domain in one piece: an account, a key, a category, and what may be said
// of a refusal.
func Example() {
	subscription, _ := petcat.ParseSubscription("free", 0, 0)
	account, _ := petcat.ParseNewAccount("acme", subscription)
	fmt.Printf("%s may send %d requests a minute\n", account.Name(), account.Subscription().Quota().PerMinute)

	// Normally crypto/rand.Reader; the example needs the same key each time.
	key, _ := petcat.GenerateKey(petcat.Production, seeded(9))
	fmt.Printf("the key prints as %v and ends in %s\n", key.Secret, key.Hint)
	hash, err := petcat.ParseKey(petcat.Production, key.Secret.Reveal())
	fmt.Println("it can be looked up:", hash == key.Hash, err)
	_, err = petcat.ParseKey(petcat.Staging, key.Secret.Reveal())
	fmt.Println("in staging:", petcat.Public(err).Message)

	name := "dog"
	category, _ := petcat.ParseNewCategory(&name, nil)
	fmt.Println("category:", category.As(1).ID, category.As(1).Name)
	_, err = petcat.ParseNewCategory(nil, nil)
	fmt.Println("without a name:", petcat.CodeOf(err))

	at := time.Date(2026, 3, 14, 12, 0, 18, 0, time.UTC)
	reset := petcat.Minute.Reset(petcat.Minute.Index(at.Unix()))
	fmt.Println("the minute ends at", time.Unix(reset, 0).UTC().Format(time.TimeOnly))
	// Output:
	// acme may send 60 requests a minute
	// the key prints as [redacted] and ends in wqx5
	// it can be looked up: true <nil>
	// in staging: this is a key of the production environment; this is staging
	// category: 1 dog
	// without a name: missing_field
	// the minute ends at 12:01:00
}
