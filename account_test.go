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
		{"account id with letters", "acct_12a", ""},
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
