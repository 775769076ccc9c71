//go:build go1.26

package petcat_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/petcat-api/petcat/client"
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
