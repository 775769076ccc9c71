package petcat_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"petcat"
)

func TestParseNewPet(t *testing.T) {
	text := func(s string) *string { return &s }
	category := petcat.CategoryID(3)
	for _, c := range []struct {
		name     string
		text     *string
		category *petcat.CategoryID
		code     petcat.Code
		message  string
	}{
		{"both", text("Rex"), &category, "", ""},
		{"white space is kept", text(" Rex "), &category, "", ""},
		{"longest name", text(strings.Repeat("🐕", petcat.MaxPetName)), &category, "", ""},

		{"nothing", nil, nil, petcat.CodeMissingField, "name is required"},
		{"no name", nil, &category, petcat.CodeMissingField, "name is required"},
		{"no category", text("Rex"), nil, petcat.CodeMissingField, "category_id is required"},
		{"no category beside a wrong name", text(""), nil, petcat.CodeMissingField, "category_id is required"},
		{"blank name", text("\u2003"), &category, petcat.CodeInvalidField, "name must contain something"},
		{"name too long", text(strings.Repeat("x", petcat.MaxPetName+1)), &category, petcat.CodeInvalidField, "name must have at most 1000 characters"},
		{"name with a line break", text("a\nb"), &category, petcat.CodeInvalidField, "found U+000A"},
		{"name not UTF-8", text("a\xff"), &category, petcat.CodeInvalidField, "name must be valid UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := petcat.ParseNewPet(c.text, c.category)
			wantRefused(t, err, c.code, c.message)
			if got := n.As(7); err == nil && got != (petcat.Pet{ID: 7, Name: *c.text, Category: category}) {
				t.Errorf("pet %+v", got)
			}
		})
	}
}

// wantRefused checks the code, and a part of the message.
func wantRefused(t *testing.T, err error, code petcat.Code, message string) {
	t.Helper()
	wantCode(t, err, code)
	if err != nil && !strings.Contains(petcat.Public(err).Message, message) {
		t.Errorf("message %q does not hold %q", petcat.Public(err).Message, message)
	}
}

// TestFingerprintsDiffer: each part of a request is in its fingerprint.
func TestFingerprintsDiffer(t *testing.T) {
	seen := make(map[[32]byte]string)
	note := func(what string, fingerprint [32]byte) {
		if other, ok := seen[fingerprint]; ok {
			t.Errorf("%s has the fingerprint of %s", what, other)
		}
		seen[fingerprint] = what
	}
	for _, name := range []string{"a", "aa", "b"} {
		note("category "+name, newCategory(t, name, nil).Fingerprint())
	}
	for _, first := range []int64{1, 2, 257} {
		for _, name := range []string{"a", "aa", "b"} {
			n, err := petcat.ParseNewPet(&name, (*petcat.CategoryID)(&first))
			if err != nil {
				t.Fatal(err)
			}
			note(fmt.Sprint("pet ", name, " of category ", first), n.Fingerprint())
		}
		for _, quantity := range []int64{1, 2} {
			n, err := petcat.ParseNewOrder((*petcat.PetID)(&first), &quantity)
			if err != nil {
				t.Fatal(err)
			}
			note(fmt.Sprint("order of ", quantity, " of pet ", first), n.Fingerprint())
		}
	}
}

// TestFingerprintsOfPetsAndOrders: the fingerprints of requests are equal exactly
// when the requests are, across operations.
func TestFingerprintsOfPetsAndOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type request struct {
			operation, name string
			a, b            int64
		}
		// Few values, so that they are often equal.
		number := rapid.SampledFrom([]int64{0, 1, 2, 256, -1, 1 << 40})
		draw := func(label string) (r request, fingerprint [32]byte) {
			r.operation = rapid.SampledFrom([]string{"pet", "order", "category"}).Draw(t, label)
			switch r.operation {
			case "pet":
				r.name, r.a = rapid.SampledFrom([]string{"a", "aa", "b"}).Draw(t, label+" name"), number.Draw(t, label+" category")
				n, err := petcat.ParseNewPet(&r.name, (*petcat.CategoryID)(&r.a))
				if err != nil {
					t.Fatal(err)
				}
				return r, n.Fingerprint()
			case "order":
				r.a, r.b = number.Draw(t, label+" pet"), rapid.Int64Range(1, 3).Draw(t, label+" quantity")
				n, err := petcat.ParseNewOrder((*petcat.PetID)(&r.a), &r.b)
				if err != nil {
					t.Fatal(err)
				}
				return r, n.Fingerprint()
			default:
				r.name = rapid.SampledFrom([]string{"a", "aa", "b"}).Draw(t, label+" name")
				return r, newCategory(t, r.name, nil).Fingerprint()
			}
		}
		first, a := draw("first")
		second, b := draw("second")
		if (a == b) != (first == second) {
			t.Fatalf("the fingerprints of %+v and %+v: equal is %v", first, second, a == b)
		}
	})
}
