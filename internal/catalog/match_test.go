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

func TestMatches(t *testing.T) {
	c := catalog.New("d")
	c.Apply(many(1, 3, 100))
	before := current(t, c).Representation(catalog.Identity).ETag[0]
	c.Apply(many(4, 4, 100))
	s := current(t, c)
	plain, zipped, zstd := s.Representation(catalog.Identity).ETag[0], s.Representation(catalog.Gzip).ETag[0], s.Representation(catalog.Zstd).ETag[0]
	other := catalog.New("e")
	other.Apply(many(1, 4, 100))
	for _, c := range []struct {
		name  string
		value []string
		want  bool
	}{
		{"no header", nil, false},
		{"empty", []string{""}, false},
		{"this one", []string{plain}, true},
		{"gzip's", []string{zipped}, true},
		{"zstd's", []string{zstd}, true},
		{"weak", []string{"W/" + plain}, true},
		{"any", []string{"*"}, true},
		{"any, with space", []string{" * "}, true},
		{"last of a list", []string{`"a", W/"b",,` + plain}, true},
		{"second header", []string{`"a"`, plain}, true},
		{"spaces and tabs", []string{"\t" + plain + " ,"}, true},

		{"the revision before", []string{before}, false},
		{"another dataset", []string{current(t, other).Representation(catalog.Identity).ETag[0]}, false},
		{"without quotes", []string{strings.Trim(plain, `"`)}, false},
		{"a part of it", []string{plain[:len(plain)-2] + `"`}, false},
		{"lower-case weakness", []string{"w/" + plain}, false},
		{"any in quotes", []string{`"*"`}, false},
		{"unfinished", []string{plain[:len(plain)-1]}, false},
		{"without a comma", []string{`"a" ` + plain}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := s.Matches(c.value); got != c.want {
				t.Errorf("%v: %v, want %v", c.value, got, c.want)
			}
		})
	}
}
