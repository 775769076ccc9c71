package e2e

import (
	"fmt"
	"net/http"
	"testing"

	client "petcat/client"
)

// TestClient: goroutines of one SDK client create without end while the server is killed and
// restarted: no call fails, and each category exists once.
func TestClient(t *testing.T) {
	t.Parallel()
	const writers, each, kills = 4, 40, 2
	place := directory(t)
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	front := newDoor(t, n)
	c, err := client.New(front.url(), k.Key, client.WithHTTPClient(newClient(t, &http.Transport{})))
	must(t, err)
	known := newBook()
	done := make(chan struct{})
	go func() {
		defer close(done)
		atOnce(writers, func(w int) {
			for i := range each {
				created, _, err := c.Categories.Create(t.Context(), client.NewCategory{Name: fmt.Sprintf("writer %d, category %d", w, i)})
				if err != nil {
					t.Error(err)
					return
				}
				known.acknowledge(category{ID: created.ID, Name: created.Name})
			}
		})
	}()
	for kill := range kills {
		eventually(t, "there are more categories", func() bool { return known.size() > (kill+1)*writers*each/(kills+2) })
		n.kill()
		n = serve(t, place)
		front.behind.Store(n)
	}
	<-done
	if all := n.categories(k.Key); len(all) != writers*each {
		t.Errorf("there are %d categories", len(all))
	}
	known.check(t, func() []category { return n.categories(k.Key) })
	listed := 0
	for _, err := range c.Categories.All(t.Context(), client.PageOptions{Limit: 100}) {
		must(t, err)
		listed++
	}
	if listed != writers*each {
		t.Errorf("all pages have %d categories", listed)
	}
	n.stop()
}
