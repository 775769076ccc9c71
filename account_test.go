package petcat_test

import (
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

func TestParseAccountName(t *testing.T) {
	for _, c := range []struct {
		name, account string
		code          petcat.Code
	}{
		{"short", "a", ""},
		{"longest", strings.Repeat("é", 200), ""},
		{"key id", "key_1", ""},
		{"blank", " \t", petcat.CodeInvalidField},
		{"too long", strings.Repeat("é", 201), petcat.CodeInvalidField},
		{"line break", "a\nb", petcat.CodeInvalidField},
		{"account id", "acct_12", petcat.CodeInvalidField},
		{"account id with leading zeros", "acct_012", petcat.CodeInvalidField},
		{"account id with a sign", "acct_+12", petcat.CodeInvalidField},
		{"account id in capitals", "ACCT_12", petcat.CodeInvalidField},
		{"account id with letters", "acct_12a", ""},
		{"capitals", "ACME", ""},
		{"space at the end", "alice ", petcat.CodeInvalidField},
		{"no-break space at the start", "\u00a0alice", petcat.CodeInvalidField},
		{"zero-width space", "alice\u200b", petcat.CodeInvalidField},
		{"Hangul filler", "alice\u3164", petcat.CodeInvalidField},
		{"blank Braille", "a\u2800", petcat.CodeInvalidField},
		{"combining grapheme joiner", "al\u034fice", petcat.CodeInvalidField},
		{"variation selector", "alice\ufe01", petcat.CodeInvalidField},
		{"line separator", "al\u2028ice", petcat.CodeInvalidField},
		{"other direction", "a\u202eb", petcat.CodeInvalidField},
		{"soft hyphen", "al\u00adice", petcat.CodeInvalidField},
	} {
		t.Run(c.name, func(t *testing.T) {
			name, err := petcat.ParseAccountName(c.account)
			wantCode(t, err, c.code)
			if err == nil && string(name) != c.account {
				t.Errorf("name %q", name)
			}
		})
	}
}

// TestAccountNamesAreNormalized: é is one character, however it was typed.
func TestAccountNamesAreNormalized(t *testing.T) {
	name, err := petcat.ParseAccountName("Cafe\u0301")
	if err != nil || name != "Caf\u00e9" {
		t.Errorf("%+q, %v", name, err)
	}
}

// TestOperatorNames: no two names of operators and tokens look the same.
func TestOperatorNames(t *testing.T) {
	for _, name := range []string{"ada ", " ada", "ada\u200b", "Ada", "\u0430da", "ada\n"} {
		_, err := petcat.ParseOperatorName(name)
		wantCode(t, err, petcat.CodeInvalidField)
	}
}

func TestParseExternalID(t *testing.T) {
	for text, code := range map[string]petcat.Code{
		"":                       "",
		"C-1042":                 "",
		strings.Repeat("~", 100): "",
		strings.Repeat("~", 101): petcat.CodeInvalidField,
		"two words":              petcat.CodeInvalidField,
		"a\n":                    petcat.CodeInvalidField,
		"é":                      petcat.CodeInvalidField,
	} {
		got, err := petcat.ParseExternalID(text)
		wantCode(t, err, code)
		if code == "" && string(got) != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
}
