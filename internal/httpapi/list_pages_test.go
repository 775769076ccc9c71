package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"petcat"
)

// pageIDs returns the ids of a page, and the path of the next one, "" for none.
func pageIDs(t *testing.T, a *answer) (ids []int64, next string) {
	t.Helper()
	wantStatus(t, a, 200)
	var page []struct{ ID int64 }
	must(t, json.Unmarshal(a.body, &page))
	for _, c := range page {
		ids = append(ids, c.ID)
	}
	if link := a.Header.Get("Link"); link != "" {
		found := regexp.MustCompile(`^<(/v1/[a-z/]+\?[^>]*)>; rel="next"$`).FindStringSubmatch(link)
		if found == nil {
			t.Fatalf("Link: %s", link)
		}
		next = found[1]
	}
	return ids, next
}

func TestListPages(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 1_000_000, 100_000_000))
	get := func(path string, changes ...request) *answer {
		return s.do("GET", path, nil, append(changes, withKey(key))...)
	}
	if ids, next := pageIDs(t, get("/v1/categories?limit=1")); len(ids) != 0 || next != "" {
		t.Errorf("of nothing: %v, %q", ids, next)
	}
	var all []int64
	for id := range int64(205) {
		wantStatus(t, s.create(fmt.Sprintf(`{"name":"%d"}`, id), withKey(key)), 201)
		all = append(all, id+1)
	}

	t.Run("200 a walk", func(t *testing.T) {
		for _, limit := range []int{1, 50, 204, 205, 206, 1000} {
			var walked []int64
			pages := 0
			for path := fmt.Sprintf("/v1/categories?limit=%d", limit); path != ""; pages++ {
				ids, next := pageIDs(t, get(path))
				walked, path = append(walked, ids...), next
			}
			if !slices.Equal(walked, all) || pages != (len(all)+limit-1)/limit {
				t.Errorf("%d pages of %d hold %d", pages, limit, len(walked))
			}
		}
	})
	t.Run("200 after", func(t *testing.T) {
		for query, want := range map[string][]int64{
			"after=0": all[:100], "after=200": all[200:], "after=205": nil, "after=9007199254740991": nil,
			"after=203&limit=1": {204}, "x=1&limit=2": {1, 2}, "limit=2&after=%31": {2, 3},
		} {
			if ids, _ := pageIDs(t, get("/v1/categories?"+query)); !slices.Equal(ids, want) {
				t.Errorf("%s: %v, want %v", query, ids, want)
			}
		}
	})
	t.Run("304 while the page stays, whatever comes behind it", func(t *testing.T) {
		etag := get("/v1/categories?limit=2").Header.Get("ETag")
		wantStatus(t, s.create(`{"name":"new"}`, withKey(key)), 201)
		wantStatus(t, get("/v1/categories?limit=2", withHeader("If-None-Match", etag)), 304)
		wantStatus(t, s.do("PATCH", "/v1/categories/2", strings.NewReader(`{"name":"changed"}`), withKey(key)), 200)
		wantStatus(t, get("/v1/categories?limit=2", withHeader("If-None-Match", etag)), 200)
		wantError(t, get("/v1/categories?limit=2", withHeader("If-Match", etag)), 412, petcat.CodePreconditionFailed)
	})
	t.Run("400", func(t *testing.T) {
		for _, query := range []string{"limit=0", "limit=1001", "limit=", "limit=a", "limit=-1", "limit=1&limit=2", "after=-1", "after=x", "after=9007199254740992", "after=1&after=1"} {
			a := get("/v1/categories?" + query)
			wantError(t, a, 400, petcat.CodeInvalidField)
			wantMessage(t, a, "the query parameter "+query[:5])
		}
	})
	t.Run("400 malformed query", func(t *testing.T) {
		few, _ := s.key(s.account("few", petcat.Enterprise, 3, 100))
		for _, path := range []string{"/v1/categories", "/v1/pets", "/v1/store/orders"} {
			for _, query := range []string{"limit=%zz", "limit=1%", "limit=1&after=%2", "limit=2;after=1", "limit=2&x=%zz", "%zz=1", ";"} {
				a := get(path + "?" + query)
				wantError(t, a, 400, petcat.CodeInvalidField)
				wantMessage(t, a, "the query of the URL cannot be read; percent-encode the names and values of its parameters, and separate them with &")
			}
			wantStatus(t, s.do("HEAD", path+"?limit=%zz", nil, withKey(key)), 400)
			wantStatus(t, get(path+"?x=%25%3B&&y=+=&z"), 200)
			wantError(t, s.do("GET", path+"?limit=%zz", nil), 401, petcat.CodeMissingAPIKey)
			wantError(t, s.do("GET", path+"?limit=%zz", nil, withKey(few)), 400, petcat.CodeInvalidField)
		}
		wantError(t, s.do("GET", "/v1/categories?limit=%zz", nil, withKey(few)), 429, petcat.CodeRateLimitExceeded)
	})
	t.Run("a query is ignored where it has no meaning", func(t *testing.T) {
		wantStatus(t, get("/v1/categories/1?limit=%zz"), 200)
		wantStatus(t, get("/v1/usage?;"), 200)
	})
	t.Run("a page has no compression", func(t *testing.T) {
		wantHeader(t, get("/v1/categories?limit=2", withHeader("Accept-Encoding", "gzip")), "Content-Encoding", "")
	})
}

// A walk while others create, change and delete shows whatever is there all the time once,
// and nothing twice.
func TestWalkDuringChanges(t *testing.T) {
	s := start(t)
	key, _ := s.key(s.account("acme", petcat.Enterprise, 10_000_000, 1_000_000_000))
	const stable = 60 // ids 1, 3, 5 ... stay; those between come and go
	for range 2 * stable {
		wantStatus(t, s.create(`{"name":"a"}`, withKey(key)), 201)
	}
	done := make(chan struct{})
	var writers sync.WaitGroup
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range 3 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		writers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				var a *answer
				id := 1 + random.IntN(2*stable)
				path := fmt.Sprintf("/v1/categories/%d", id)
				switch {
				case random.IntN(4) == 0:
					a = s.create(`{"name":"b"}`, withKey(key))
				case id%2 == 0 && random.IntN(2) == 0:
					a = s.do("DELETE", path, nil, withKey(key))
				default:
					a = s.do("PATCH", path, strings.NewReader(fmt.Sprintf(`{"name":"%d"}`, random.Uint32())), withKey(key))
				}
				if c := a.StatusCode; c != 200 && c != 201 && c != 204 && c != 404 {
					t.Errorf("%d %s", c, a.body)
				}
			}
		})
	}
	for range 20 {
		var walked []int64
		for path := "/v1/categories?limit=7"; path != ""; {
			ids, next := pageIDs(t, s.do("GET", path, nil, withKey(key)))
			walked, path = append(walked, ids...), next
		}
		if !slices.IsSorted(walked) || len(slices.Compact(slices.Clone(walked))) != len(walked) {
			t.Errorf("a walk repeats ids: %v", walked)
		}
		for id := int64(1); id < 2*stable; id += 2 {
			if !slices.Contains(walked, id) {
				t.Errorf("a walk misses %d, which was there throughout", id)
			}
		}
	}
	close(done)
	writers.Wait()
}
