package petcat_test

import (
	"strings"
	"testing"

	"petcat"
)

func TestParseNewAccount(t *testing.T) {
	free, err := petcat.ParseSubscription("free", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, account string
		code          petcat.Code
	}{
		{"short", "a", ""},
		{"longest", strings.Repeat("é", 200), ""},
		{"a key's id is no account's", "key_1", ""},
		{"blank", " \t", petcat.CodeInvalidField},
		{"too long", strings.Repeat("é", 201), petcat.CodeInvalidField},
		{"line break", "a\nb", petcat.CodeInvalidField},
		{"an id", "acct_12", petcat.CodeInvalidField},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := petcat.ParseNewAccount(c.account, free)
			wantCode(t, err, c.code)
			if err == nil && (a.Name() != c.account || a.Subscription() != free) {
				t.Errorf("account %q, %+v", a.Name(), a.Subscription())
			}
		})
	}
}
