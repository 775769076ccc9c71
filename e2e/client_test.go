package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	client "github.com/petcat-api/petcat/client"
)

// TestClient: goroutines that share one SDK client, and the first program in the SDK's README, create
// while the server is killed and restarted. No call fails, and each category exists once.
func TestClient(t *testing.T) {
	t.Parallel()
	const writers, each, byProgram, kills = 4, 40, 100, 2
	readme, err := os.ReadFile("../client/README.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	source, _, _ := strings.Cut(rest, "```\n")
	built := filepath.Join(t.TempDir(), "example")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", built, writeFile(t, "main.go", source))
	build.Dir = ".." // go.mod there has the path of the SDK
	if o := finish(t, build); o.code != 0 {
		t.Fatal(o.stderr)
	}
	place := directory(t)
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	front := newForwarder(t, n)
	example := exec.Command(built)
	example.Env = append(os.Environ(), "PETCAT_URL="+front.url(), "PETCAT_API_KEY="+k.Key)
	c, err := client.New(front.url(), k.Key, client.WithHTTPClient(newClient(t, &http.Transport{})))
	must(t, err)
	known := newBook()
	done := make(chan struct{})
	go func() {
		defer close(done)
		atOnce(writers+1, func(w int) {
			if w == writers {
				if out, err := example.CombinedOutput(); err != nil || len(out) > 0 {
					t.Errorf("the program in the README: %v, output %s", err, out)
				}
				return
			}
			for i := range each {
				name := fmt.Sprintf("writer %d, category %d", w, i)
				created, _, err := c.Categories.Create(t.Context(), client.NewCategory{Name: name})
				if err != nil {
					t.Error(err)
					return
				}
				known.acknowledge(category{ID: created.ID, Name: created.Name})
			}
		})
	}()
	for kill := range kills {
		eventually(t, "there are more categories", func() bool {
			return known.size() > (kill+1)*writers*each/(kills+2)
		})
		n.kill()
		n = serve(t, place)
		front.behind.Store(n)
	}
	<-done
	known.check(t, func() []category { return n.categories(k.Key) })
	listed := 0
	for _, err := range c.Categories.All(t.Context(), client.PageOptions{Limit: 100}) {
		must(t, err)
		listed++
	}
	if want := writers*each + byProgram; len(n.categories(k.Key)) != want || listed != want {
		t.Errorf("%d categories, %d in all pages, want %d", len(n.categories(k.Key)), listed, want)
	}
	n.stop()
}
