package petcat_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"petcat"
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
		{"combining characters count each", text(strings.Repeat("e\u0301", 500)), nil, "", ""},

		{"no name", nil, nil, petcat.CodeMissingField, "name is required"},
		{"blank name", text(" \u00a0\u2003\u3000"), nil, petcat.CodeInvalidField, "name must contain something"},
		{"name too long", text(strings.Repeat("🐕", 1001)), nil, petcat.CodeInvalidField, "name must have at most 1000 characters"},
		{"name not UTF-8", text("a\xff"), nil, petcat.CodeInvalidField, "name must be valid UTF-8"},
		{"name with NUL", text("a\x00"), nil, petcat.CodeInvalidField, "found U+0000"},
		{"description too long", text("dog"), text(strings.Repeat("é", 10_001)), petcat.CodeInvalidField, "description must have at most 10000 characters"},
		{"description with ESC", text("dog"), text("\x1b[2J"), petcat.CodeInvalidField, "found U+001B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := petcat.ParseNewCategory(c.text, c.description)
			wantCode(t, err, c.code)
			if err != nil {
				if message := petcat.Public(err).Message; !strings.Contains(message, c.message) {
					t.Errorf("message %q does not hold %q", message, c.message)
				}
				return
			}
			got := n.As(7)
			if got.ID != 7 || got.Name != *c.text || (got.Description == nil) != (c.description == nil) {
				t.Errorf("category %+v", got)
			}
			if c.description != nil && *got.Description != *c.description {
				t.Errorf("description %q", *got.Description)
			}
		})
	}
}

// acceptable is a second implementation of the rule for texts.
func acceptable(s string, longest int, allowed string, blank bool) bool {
	const white = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
	length, visible := 0, false
	for rest := []byte(s); len(rest) > 0; length++ {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			return false
		}
		if (r < 0x20 || r >= 0x7f && r < 0xa0) && !strings.ContainsRune(allowed, r) {
			return false
		}
		visible = visible || !strings.ContainsRune(white, r)
		rest = rest[size:]
	}
	return length <= longest && (blank || visible)
}

// FuzzParseNewCategory: exactly the texts that are valid UTF-8, within their
// bounds and free of control characters are taken, and they are kept as they
// were sent; everything else is an invalid field.
func FuzzParseNewCategory(f *testing.F) {
	f.Add("dog", "barks", true)
	f.Add("dog", "", false)
	f.Add("", "", true)
	f.Add(" \u0085", "a\r\n\tb", true)
	f.Add("a\x00b", "c", true)
	f.Add("a\xed\xa0\x80", "a surrogate in UTF-8", true)
	f.Add(strings.Repeat("é", 1000), strings.Repeat("\u2028", 10_001), true)
	f.Add("dog", "\x1b[2J", true)
	f.Fuzz(func(t *testing.T, name, description string, sent bool) {
		var d *string
		if sent {
			d = &description
		}
		want := acceptable(name, petcat.MaxCategoryName, "", false) &&
			(!sent || acceptable(description, petcat.MaxCategoryDescription, "\t\n\r", true))
		n, err := petcat.ParseNewCategory(&name, d)
		if want != (err == nil) {
			t.Fatalf("%q, %q: taken %v, want %v; %v", name, description, err == nil, want, err)
		}
		if err != nil {
			wantCode(t, err, petcat.CodeInvalidField)
			return
		}
		if n.Name() != name || n.Description() != d {
			t.Errorf("%q, %q became %q, %v", name, description, n.Name(), n.Description())
		}
	})
}

func newCategory(t testing.TB, name string, description *string) petcat.NewCategory {
	t.Helper()
	n, err := petcat.ParseNewCategory(&name, description)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
