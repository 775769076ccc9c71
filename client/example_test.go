//go:build go1.26

package petcat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	petcat "github.com/petcat-api/petcat/client"
)

func Example() {
	server := httptest.NewServer(newService(60, 1000))
	defer server.Close()
	url, key := server.URL, validKey
	ctx := context.Background()

	c, err := petcat.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"dog", "cat", "rabbit"} {
		created, res, err := c.Categories.Create(ctx, petcat.NewCategory{Name: name})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(created.ID, created.Name, res.Limits.Remaining)
	}
	for category, err := range c.Categories.All(ctx, petcat.PageOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(category.ID, category.Name)
	}
	// Output:
	// 1 dog 59
	// 2 cat 58
	// 3 rabbit 57
	// 1 dog
	// 2 cat
	// 3 rabbit
}

// newClient returns a client of a service with the categories 1 (dog) and 2 (cat).
func newClient() (c *petcat.Client, stop func()) {
	server := httptest.NewServer(newService(60, 1000))
	c, err := petcat.New(server.URL, validKey)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"dog", "cat"} {
		if _, _, err := c.Categories.Create(context.Background(), petcat.NewCategory{Name: name}); err != nil {
			log.Fatal(err)
		}
	}
	return c, server.Close
}

func ExampleNew() {
	c, err := petcat.New("", "", // PETCAT_URL and PETCAT_API_KEY
		petcat.WithUserAgent("acme/1.2"),
		petcat.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
		petcat.WithMaxWait(10*time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Limits().Remaining)
}

// Requests through a proxy, with a timeout of 10 seconds.
func ExampleWithHTTPClient() {
	h := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment},
	}
	c, err := petcat.New("https://petcat.example.com", os.Getenv("PETCAT_API_KEY"), petcat.WithHTTPClient(h))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Limits().Remaining)
}

func ExampleCategories_Create() {
	c, stop := newClient()
	defer stop()

	category, res, err := c.Categories.Create(context.Background(),
		petcat.NewCategory{Name: "rabbit", Description: "Long ears"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(category.ID, category.Name, res.Status, res.Limits.Remaining)
	// Output: 3 rabbit 201 57
}

// A program that may repeat a create after a restart passes its own key.
func ExampleWithIdempotencyKey() {
	c, stop := newClient()
	defer stop()

	for range 2 {
		category, res, err := c.Categories.Create(context.Background(),
			petcat.NewCategory{Name: "rabbit"}, petcat.WithIdempotencyKey("import-17"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(category.ID, res.Replayed)
	}
	// Output:
	// 3 false
	// 3 true
}

func ExampleCategories_Get() {
	c, stop := newClient()
	defer stop()

	category, _, err := c.Categories.Get(context.Background(), 17)
	switch {
	case errors.Is(err, petcat.CodeNotFound):
		fmt.Println("there is no category 17")
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println(category.Name)
	}
	// Output: there is no category 17
}

// The update fails if the category has changed since it was read.
func ExampleCategories_Update() {
	c, stop := newClient()
	defer stop()
	ctx := context.Background()

	seen, _, err := c.Categories.Get(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	name := "dogs"
	change := petcat.CategoryChange{Name: &name}
	changed, _, err := c.Categories.Update(ctx, seen.ID, change, petcat.WithIfMatch(seen.ETag))
	if errors.Is(err, petcat.CodePreconditionFailed) {
		fmt.Println("the category has changed")
		return
	}
	fmt.Println(changed.Name, err)
}

func ExampleCategories_Delete() {
	c, stop := newClient()
	defer stop()
	ctx := context.Background()

	if _, err := c.Categories.Delete(ctx, 1); err != nil {
		log.Fatal(err)
	}
	left, _, err := c.Categories.List(ctx)
	fmt.Println(len(left), err)
}

func ExampleCategories_List() {
	c, stop := newClient()
	defer stop()

	all, res, err := c.Categories.List(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(all), res.Status)
	// Output: 2 200
}

// A program that keeps the list asks whether it has changed.
func ExampleCategories_ListIfChanged() {
	c, stop := newClient()
	defer stop()
	ctx := context.Background()

	all, res, err := c.Categories.ListIfChanged(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	if changed, _, err := c.Categories.ListIfChanged(ctx, res.ETag); err == nil && changed != nil {
		all = changed
	}
	fmt.Println(len(all))
	// Output: 2
}

func ExampleCategories_All() {
	c, stop := newClient()
	defer stop()

	for category, err := range c.Categories.All(context.Background(), petcat.PageOptions{Limit: 100}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(category.ID, category.Name)
	}
	// Output:
	// 1 dog
	// 2 cat
}

func ExampleCategories_Changes() {
	c, stop := newClient()
	defer stop()

	bookmark := "" // of the last run
	for page, err := range c.Categories.Changes(context.Background(), petcat.ChangeOptions{Bookmark: bookmark}) {
		if err != nil {
			log.Fatal(err)
		}
		for _, change := range page.Changes {
			fmt.Println(change.ID, change.Category.Name) // the Category of a deletion is nil
		}
		bookmark = page.Bookmark // store it with the changes
	}
	fmt.Println("later changes follow", bookmark)
	// Output:
	// 1 dog
	// 2 cat
	// later changes follow 2
}

// A program that keeps a copy refreshes it every two minutes. A later process continues it.
func ExampleMirror() {
	c, stop := newClient()
	defer stop()
	ctx := context.Background()

	mirror := c.Categories.NewMirror()
	if _, err := mirror.Refresh(ctx); err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := mirror.Save(&file); err != nil {
		log.Fatal(err)
	}

	later := c.Categories.NewMirror()
	if err := later.Load(&file); err != nil {
		log.Fatal(err)
	}
	changed, err := later.Refresh(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(later.Categories()[2].Name, changed)
	// Output: cat false
}

func ExamplePets_Create() {
	c, stop := newClient()
	defer stop()

	pet, _, err := c.Pets.Create(context.Background(), petcat.NewPet{Name: "Rex", CategoryID: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pet.ID)
}

func ExamplePets_Delete() {
	c, stop := newClient()
	defer stop()

	if _, err := c.Pets.Delete(context.Background(), 5); err != nil && !errors.Is(err, petcat.CodeNotFound) {
		log.Fatal(err)
	}
}

func ExamplePets_All() {
	c, stop := newClient()
	defer stop()

	for pet, err := range c.Pets.All(context.Background(), petcat.PetOptions{CategoryID: 1}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pet.ID, pet.Name)
	}
}

func ExampleOrders_Create() {
	c, stop := newClient()
	defer stop()

	order, _, err := c.Orders.Create(context.Background(), petcat.NewOrder{PetID: 5, Quantity: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(order.ID)
}

func ExampleOrders_All() {
	c, stop := newClient()
	defer stop()

	for order, err := range c.Orders.All(context.Background(), petcat.PageOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(order.ID, order.Quantity)
	}
}

func ExampleClient_Usage() {
	c, stop := newClient()
	defer stop()

	usage, _, err := c.Usage(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range usage.Windows {
		fmt.Println(w.Window, w.Remaining, "of", w.Limit)
	}
	fmt.Println(usage.Storage.Categories, "of", usage.Storage.MaxCategories)
}

// Do sends requests that have no method, such as a list with a filter.
func ExampleClient_Do() {
	c, stop := newClient()
	defer stop()

	var dogs []petcat.Category
	if _, err := c.Do(context.Background(), http.MethodGet, "/categories?name=dog", nil, &dogs); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(dogs))
}
