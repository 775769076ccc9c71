package petcat_test

import (
	"regexp"
	"strings"
	"testing"

	"petcat"
)

func TestParseIdempotencyKey(t *testing.T) {
	for name, s := range map[string]string{
		"shortest": "!", "longest": strings.Repeat("~", 255), "a UUID in quotes": `"8e03978e-40d5-43dd-bc93-6894a57f9324"`,
		"structured field with parameters": `"a";b=c`, "commas": "a,b",
	} {
		t.Run(name, func(t *testing.T) {
			if k, err := petcat.ParseIdempotencyKey(s); err != nil || string(k) != s {
				t.Errorf("%q became %q, %v", s, k, err)
			}
		})
	}
	for name, s := range map[string]string{
		"empty": "", "too long": strings.Repeat("k", 256), "space": "a b", "space at the end": "a ", "tab": "a\tb",
		"line break": "a\r\nX: y", "NUL": "\x00", "DEL": "\x7f", "not ASCII": "é", "not UTF-8": "\xff",
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

// FuzzIdempotencyKey: exactly the texts of 1 to 255 visible ASCII characters
// are taken, and kept as they are.
func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"", "a", `"quoted"`, "a b", "\x7f", "é", "a\n", strings.Repeat("x", 255), strings.Repeat("x", 256)} {
		f.Add(s)
	}
	form := regexp.MustCompile(`\A[\x21-\x7e]{1,255}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		k, err := petcat.ParseIdempotencyKey(s)
		if want := form.MatchString(s); want != (err == nil) {
			t.Fatalf("%q: taken %v, want %v", s, err == nil, want)
		}
		if err == nil && string(k) != s {
			t.Errorf("%q became %q", s, k)
		}
	})
}
