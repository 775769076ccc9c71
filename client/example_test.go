package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"petcat/client"
)

// start starts a service for an example, and returns a client for it.
func start() (c *client.Client, stop func()) {
	server := httptest.NewServer(newService(60, 1000))
	c, err := client.New(server.URL, validKey)
	if err != nil {
		log.Fatal(err)
	}
	return c, server.Close
}

func Example() {
	server := httptest.NewServer(newService(60, 1000))
	defer server.Close()
	url, key := server.URL, validKey
	ctx := context.Background()

	c, err := client.New(url, key)
	if err != nil {
		log.Fatal(err)
	}
	dog, err := c.Categories.Create(ctx, client.NewCategory{Name: "dog", Description: "Loyal, and always hungry"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(dog.ID, dog.Name)
	// Output: 1 dog
}

func ExampleCategories_All() {
	c, stop := start()
	defer stop()
	ctx := context.Background()
	for _, name := range []string{"dog", "cat", "rabbit"} {
		if _, err := c.Categories.Create(ctx, client.NewCategory{Name: name}); err != nil {
			log.Fatal(err)
		}
	}

	for category, err := range c.Categories.All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(category.ID, category.Name)
	}
	// Output:
	// 1 dog
	// 2 cat
	// 3 rabbit
}
