package petcat_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func TestParseIdempotencyKey(t *testing.T) {
	const uuid = "8e03978e-40d5-43dd-bc93-6894a57f9324"
	for name, c := range map[string]struct{ value, want string }{
		"shortest":              {"!", "!"},
		"longest":               {strings.Repeat("~", 255), strings.Repeat("~", 255)},
		"UUID":                  {uuid, uuid},
		"UUID, quoted":          {`"` + uuid + `"`, uuid},
		"longest, quoted":       {`"` + strings.Repeat("~", 255) + `"`, strings.Repeat("~", 255)},
		"longest, all escaped":  {`"` + strings.Repeat(`\\`, 255) + `"`, strings.Repeat(`\`, 255)},
		"escapes in quotes":     {`"a\"b\\c"`, `a"b\c`},
		"single quote, quoted":  {`"\""`, `"`},
		"backslash, bare":       {`a\b`, `a\b`},
		"two backslashes, bare": {`a\\b`, `a\\b`},
		"commas":                {"a,b", "a,b"},
		"parameters, bare":      {"a;b=c", "a;b=c"},
		"single quotes":         {"'a'", "'a'"},
	} {
		t.Run(name, func(t *testing.T) {
			if k, err := petcat.ParseIdempotencyKey(c.value); err != nil || string(k) != c.want {
				t.Errorf("ParseIdempotencyKey(%q) = %q, %v", c.value, k, err)
			}
		})
	}
}

// FuzzIdempotencyKey checks that exactly the texts of 1 to 255 visible ASCII characters are
// accepted, unchanged if they are bare, unescaped if they are quoted.
func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{
		"", "a", `"quoted"`, `"\\\""`, `"\x"`, "a b", "a ", "a\tb", "\x00", "\x7f", "é", "\xff", "a\n", "a\r\nX: y",
		strings.Repeat("x", 255), strings.Repeat("x", 256),
		`""`, `"a b"`, `"` + strings.Repeat("k", 256) + `"`, `"a`, `a"`, `a"b`, `"`, `"a\"`, `"a\n"`, `"a\`, `"a";b=c`,
		`"a", "b"`, `""a""`,
	} {
		f.Add(s)
	}
	bare := regexp.MustCompile(`\A[!#-~]{1,255}\z`)
	quoted := regexp.MustCompile(`\A"([!#-\[\]-~]|\\["\\]){1,255}"\z`)
	escapes := strings.NewReplacer(`\\`, `\`, `\"`, `"`)
	f.Fuzz(func(t *testing.T, s string) {
		k, err := petcat.ParseIdempotencyKey(s)
		if want := bare.MatchString(s) || quoted.MatchString(s); want != (err == nil) {
			t.Fatalf("%q: accepted %v, want %v", s, err == nil, want)
		}
		want := s
		if quoted.MatchString(s) {
			want = escapes.Replace(s[1 : len(s)-1])
		}
		if err == nil && string(k) != want {
			t.Errorf("ParseIdempotencyKey(%q) = %q", s, k)
		}
	})
}
