package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestStorageIsBounded: what accounts store has bounds. An operator makes room while the server runs.
func TestStorageIsBounded(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		small := newKey(t, place, "small", append(unlimited, "--max-categories", "3")...)
		large := newKey(t, place, "large", unlimited...)
		n := serve(t, place, "--max-categories-size", "1MiB")
		usage := func(k key) (u struct {
			Storage struct {
				Categories, Bytes int64
			}
		}) {
			t.Helper()
			must(t, json.Unmarshal(n.do(http.MethodGet, "/v1/usage", "", by(k.Key)).want(t, http.StatusOK).body, &u))
			return u
		}
		// On PostgreSQL, the node notices its own creates within a second.
		wantFull := func(k key, create func() *response) {
			t.Helper()
			eventually(t, "the limit is reached", func() bool { return create().StatusCode != http.StatusCreated })
			create().wantError(t, http.StatusForbidden, "storage_limit_reached")
			n.list(k.Key).want(t, http.StatusOK) // reading still works
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { n.create(small.Key, "Dogs") })
		}
		all.Wait()
		wantFull(small, func() *response { return n.create(small.Key, "Dogs") })
		got := usage(small).Storage
		if exact := !strings.HasPrefix(place, "postgres"); got.Categories < 3 || got.Bytes < 3*64 || exact && got.Categories != 3 {
			t.Errorf("the small account stores %+v", got)
		}
		body := `{"name":"Birds","description":"` + strings.Repeat("🐕", 10_000) + `"}`
		create := func() *response { return n.do(http.MethodPost, "/v1/categories", body, by(large.Key)) }
		wantFull(large, create)

		petcat(t, place, "account", "purge", "large", "--yes")
		eventually(t, "there is room", func() bool { return create().StatusCode == http.StatusCreated })
		eventually(t, "only what was created since counts", func() bool { return usage(large).Storage.Categories == 1 })
		n.stop()
	})
}
