package catalog_test

import (
	"strings"
	"testing"

	"petcat"
	"petcat/internal/catalog"
)

// Two bodies that may differ never share an ETag: over datasets, revisions and
// encodings.
func TestETagsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, dataset := range []string{"a", "a-1", "a-1-2", "b", "1"} {
		c := catalog.New(dataset)
		for id := range 30 {
			for _, e := range encodings() {
				etag := current(t, c).Representation(e).ETag
				where := dataset + " " + e.String()
				if len(etag) != 1 || len(etag[0]) < 3 || etag[0][0] != '"' || strings.Count(etag[0], `"`) != 2 || !strings.HasSuffix(etag[0], `"`) {
					t.Fatalf("%s: %v is no strong validator", where, etag)
				}
				if twin, taken := seen[etag[0]]; taken {
					t.Errorf("%s after %d creates has the ETag %s of %s", where, id, etag[0], twin)
				}
				seen[etag[0]] = where
			}
			c.Apply([]petcat.RevisedCategory{revised(id+1, "n", nil)})
		}
	}
}
