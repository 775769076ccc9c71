package petcat_test

import (
	"regexp"
	"strings"
	"testing"

	"petcat"
)

func TestParseIdempotencyKey(t *testing.T) {
	const uuid = "8e03978e-40d5-43dd-bc93-6894a57f9324"
	for name, c := range map[string]struct{ value, want string }{
		"shortest":                      {"!", "!"},
		"longest":                       {strings.Repeat("~", 255), strings.Repeat("~", 255)},
		"a UUID":                        {uuid, uuid},
		"a UUID in quotes":              {`"` + uuid + `"`, uuid},
		"the longest, in quotes":        {`"` + strings.Repeat("~", 255) + `"`, strings.Repeat("~", 255)},
		"the longest, all escaped":      {`"` + strings.Repeat(`\\`, 255) + `"`, strings.Repeat(`\`, 255)},
		"escapes in quotes":             {`"a\"b\\c"`, `a"b\c`},
		"a quote alone, in quotes":      {`"\""`, `"`},
		"a backslash without quotes":    {`a\b`, `a\b`},
		"two backslashes, unquoted":     {`a\\b`, `a\\b`},
		"commas":                        {"a,b", "a,b"},
		"what ends a quoted key's like": {"a;b=c", "a;b=c"},
		"single quotes":                 {"'a'", "'a'"},
	} {
		t.Run(name, func(t *testing.T) {
			if k, err := petcat.ParseIdempotencyKey(c.value); err != nil || string(k) != c.want {
				t.Errorf("%q became %q, %v", c.value, k, err)
			}
		})
	}
}

// FuzzIdempotencyKey: exactly the texts of 1 to 255 visible ASCII characters
// without quotes are taken as they are, and what is in a string is taken as what
// it stands for.
func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{
		"", "a", `"quoted"`, `"\\\""`, `"\x"`, "a b", "a ", "a\tb", "\x00", "\x7f", "é", "\xff", "a\n", "a\r\nX: y", strings.Repeat("x", 255), strings.Repeat("x", 256),
		`""`, `"a b"`, `"` + strings.Repeat("k", 256) + `"`, `"a`, `a"`, `a"b`, `"`, `"a\"`, `"a\n"`, `"a\`, `"a";b=c`, `"a", "b"`, `""a""`,
	} {
		f.Add(s)
	}
	bare := regexp.MustCompile(`\A[!#-~]{1,255}\z`)
	quoted := regexp.MustCompile(`\A"([!#-\[\]-~]|\\["\\]){1,255}"\z`)
	escapes := strings.NewReplacer(`\\`, `\`, `\"`, `"`)
	f.Fuzz(func(t *testing.T, s string) {
		k, err := petcat.ParseIdempotencyKey(s)
		if want := bare.MatchString(s) || quoted.MatchString(s); want != (err == nil) {
			t.Fatalf("%q: taken %v, want %v", s, err == nil, want)
		}
		want := s
		if quoted.MatchString(s) {
			want = escapes.Replace(s[1 : len(s)-1])
		}
		if err == nil && string(k) != want {
			t.Errorf("%q became %q", s, k)
		}
	})
}
