package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"petcat"
	"petcat/internal/catalog"
)

func TestAppendCategory(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name     string
		category petcat.Category
		want     string
	}{
		{"name alone", petcat.Category{ID: 1, Name: "dog"}, `{"id":1,"name":"dog"}`},
		{"empty description", petcat.Category{ID: 2, Name: "dog", Description: text("")}, `{"id":2,"name":"dog","description":""}`},
		{"largest id", petcat.Category{ID: 1<<53 - 1, Name: "d"}, `{"id":9007199254740991,"name":"d"}`},
		{"escapes", petcat.Category{ID: 3, Name: `"\`, Description: text("\t\r\n")}, `{"id":3,"name":"\"\\","description":"\t\r\n"}`},
		{"nothing is escaped without need", petcat.Category{ID: 4, Name: "<é&🐕/\u2028>"}, "{\"id\":4,\"name\":\"<é&🐕/\u2028>\"}"},
		{"other controls", petcat.Category{ID: 5, Name: "\x00\x1f\x7f"}, "{\"id\":5,\"name\":\"\\u0000\\u001f\x7f\"}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := catalog.AppendCategory([]byte("before"), c.category)
			if err != nil || string(got) != "before"+c.want {
				t.Errorf("%s, %v\nwant %s", got, err, c.want)
			}
		})
	}
	for _, bad := range []petcat.Category{{Name: "\xff"}, {Name: "n", Description: text("\xed\xa0\x80")}} {
		if got, err := catalog.AppendCategory(nil, bad); err == nil {
			t.Errorf("%q became %s", bad.Name, got)
		}
	}
}

// The standard library reads what was written, whatever the text.
func TestAppendCategoryReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := petcat.Category{ID: petcat.CategoryID(rapid.Int64().Draw(t, "id")), Name: strings.ToValidUTF8(rapid.String().Draw(t, "name"), "")}
		if rapid.Bool().Draw(t, "described") {
			d := strings.ToValidUTF8(rapid.String().Draw(t, "description"), "")
			want.Description = &d
		}
		object, err := catalog.AppendCategory(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		got := unmarshalled(t, append(append([]byte("["), object...), ']'))
		if diff := cmp.Diff([]petcat.Category{want}, got); diff != "" {
			t.Fatalf("%s reads as another category (-want +got)\n%s", object, diff)
		}
	})
}
