package petcat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
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
		{"longest name", text(strings.Repeat("🐕", petcat.MaxPetName)), &category, "", ""},

		{"no name", nil, &category, petcat.CodeMissingField, "name is required"},
		{"no category", text("Rex"), nil, petcat.CodeMissingField, "category_id is required"},
		{"blank name", text("\u2003"), &category, petcat.CodeInvalidField, "name must contain something"},
		{
			"name too long", text(strings.Repeat("x", petcat.MaxPetName+1)), &category, petcat.CodeInvalidField,
			"name must have at most 1000 characters",
		},
		{"name with a line break", text("a\nb"), &category, petcat.CodeInvalidField, "found U+000A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := petcat.ParseNewPet(c.text, c.category)
			wantRejected(t, err, c.code, c.message)
			if got := n.WithID(7); err == nil && got != (petcat.Pet{ID: 7, Name: *c.text, Category: category}) {
				t.Errorf("pet %+v", got)
			}
		})
	}
}

// wantRejected checks the code, and a part of the message.
func wantRejected(t *testing.T, err error, code petcat.Code, message string) {
	t.Helper()
	wantCode(t, err, code)
	if err != nil && !strings.Contains(petcat.Public(err).Message, message) {
		t.Errorf("message %q does not contain %q", petcat.Public(err).Message, message)
	}
}

// TestFingerprintsDiffer checks that a fingerprint covers every part of a request.
func TestFingerprintsDiffer(t *testing.T) {
	seen := make(map[[32]byte]string)
	note := func(what string, fingerprint [32]byte) {
		if other, ok := seen[fingerprint]; ok {
			t.Errorf("%s and %s have the same fingerprint", what, other)
		}
		seen[fingerprint] = what
	}
	// Texts that are equal when name and description are simply joined.
	for _, name := range []string{"a", "aa", "b"} {
		note("category "+name, newCategory(t, name, nil).Fingerprint())
		for _, description := range []string{"", "a", "aa", "\t", "a\tb"} {
			note("category "+name+", described "+description, newCategory(t, name, &description).Fingerprint())
		}
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
