package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	client "petcat/client"
)

// TestClient: goroutines share one SDK client, and create while the server is killed and restarted. No
// call fails, and each category exists once.
func TestClient(t *testing.T) {
	t.Parallel()
	const writers, each, kills = 4, 40, 2
	place := directory(t)
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	front := newForwarder(t, n)
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
		t.Errorf("%d categories", len(all))
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

// TestClientProgram: the first program in the SDK's README creates each category once, although the
// server is killed and restarted.
func TestClientProgram(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../client/README.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	source, _, _ := strings.Cut(rest, "```\n")
	place := directory(t)
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	front := newForwarder(t, n)
	cmd := exec.Command("go", "run", writeFile(t, "main.go", source))
	cmd.Dir = ".." // go.mod there has the path of the SDK
	cmd.Env = append(os.Environ(), "PETCAT_URL="+front.url(), "PETCAT_API_KEY="+k.Key)
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	must(t, cmd.Start())
	eventually(t, "there are categories", func() bool { return len(n.categories(k.Key)) > 20 })
	n.kill()
	n = serve(t, place)
	front.behind.Store(n)
	if err := cmd.Wait(); err != nil || output.String() != "" {
		t.Errorf("output %q, %v", output.String(), err)
	}
	names := map[string]bool{}
	for _, c := range n.categories(k.Key) {
		names[c.Name] = true
	}
	if all := n.categories(k.Key); len(all) != 100 || len(names) != 100 {
		t.Errorf("%d categories with %d names", len(all), len(names))
	}
	n.stop()
}
