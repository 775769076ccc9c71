package petcat_test

import (
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func TestParseNewCategory(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name              string
		text, description *string
		code              petcat.Code
		message           string
	}{
		{"name alone", text("dog"), nil, "", ""},
		{"both", text("dog"), text("barks"), "", ""},
		{"white space is kept", text(" dog "), text(" \n"), "", ""},
		{"longest", text(strings.Repeat("🐕", 1000)), text(strings.Repeat("é", 10_000)), "", ""},
		{"combining characters are counted", text(strings.Repeat("e\u0301", 500)), nil, "", ""},

		{"no name", nil, nil, petcat.CodeMissingField, "name is required"},
		{"blank name", text(" \u00a0\u2003\u3000"), nil, petcat.CodeInvalidField, "name must contain something"},
		{
			"name of invisible characters", text("\u200b\u2028 \u202e\ufeff"), nil, petcat.CodeInvalidField,
			"name must contain something",
		},
		{
			"name too long", text(strings.Repeat("🐕", 1001)), nil, petcat.CodeInvalidField,
			"name must have at most 1000 characters",
		},
		{"name not UTF-8", text("a\xff"), nil, petcat.CodeInvalidField, "name must be valid UTF-8"},
		{"name with NUL", text("a\x00"), nil, petcat.CodeInvalidField, "found U+0000"},
		{
			"description too long", text("dog"), text(strings.Repeat("é", 10_001)), petcat.CodeInvalidField,
			"description must have at most 10000 characters",
		},
		{"description with ESC", text("dog"), text("\x1b[2J"), petcat.CodeInvalidField, "found U+001B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := petcat.ParseNewCategory(c.text, c.description)
			wantCode(t, err, c.code)
			if err != nil {
				if message := petcat.Public(err).Message; !strings.Contains(message, c.message) {
					t.Errorf("message %q does not contain %q", message, c.message)
				}
				return
			}
			got := n.WithID(7)
			if got.ID != 7 || got.Name != *c.text || (got.Description == nil) != (c.description == nil) {
				t.Errorf("category %+v", got)
			}
			if c.description != nil && *got.Description != *c.description {
				t.Errorf("description %q", *got.Description)
			}
		})
	}
}

func newCategory(t testing.TB, name string, description *string) petcat.NewCategory {
	t.Helper()
	n, err := petcat.ParseNewCategory(&name, description)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
