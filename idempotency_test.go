package petcat_test

import (
	"fmt"
	"os"
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
	for name, s := range map[string]string{
		"empty": "", "too long": strings.Repeat("k", 256), "space": "a b", "space at the end": "a ", "tab": "a\tb",
		"line break": "a\r\nX: y", "NUL": "\x00", "DEL": "\x7f", "not ASCII": "é", "not UTF-8": "\xff",
		"empty in quotes": `""`, "space in quotes": `"a b"`, "too long in quotes": `"` + strings.Repeat("k", 256) + `"`,
		"never closed": `"a`, "never opened": `a"`, "a quote in the middle": `a"b`, "a lone quote": `"`,
		"escaped end": `"a\"`, "unknown escape": `"a\n"`, "an escape and no more": `"a\`,
		"parameters": `"a";b=c`, "two strings": `"a", "b"`, "two pairs": `""a""`,
	} {
		t.Run("400 "+name, func(t *testing.T) {
			k, err := petcat.ParseIdempotencyKey(s)
			wantCode(t, err, petcat.CodeInvalidField)
			if k != "" {
				t.Errorf("key %q", k)
			}
		})
	}
}

// TestIdempotencyKeysAreKeptAsPromised: as long as the contract says.
func TestIdempotencyKeysAreKeptAsPromised(t *testing.T) {
	contract, err := os.ReadFile("api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kept := fmt.Sprintf("kept for %g hours. Retrying the request", petcat.IdempotencyRetention.Hours())
	if !strings.Contains(string(contract), kept) {
		t.Errorf("api/openapi.yaml does not say %q", kept)
	}
}

// FuzzIdempotencyKey: exactly the texts of 1 to 255 visible ASCII characters
// without quotes are taken as they are, and what is in a string is taken as what
// it stands for.
func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"", "a", `"quoted"`, `"\\\""`, `"\x"`, "a b", "\x7f", "é", "a\n", strings.Repeat("x", 255), strings.Repeat("x", 256)} {
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
