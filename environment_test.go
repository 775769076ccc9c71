package petcat_test

import (
	"testing"

	"petcat"
)

func TestParseEnvironment(t *testing.T) {
	for _, name := range []string{"production", "staging"} {
		if e, err := petcat.ParseEnvironment(name); err != nil || string(e) != name {
			t.Errorf("%s: %s, %v", name, e, err)
		}
	}
	for _, name := range []string{"", "prod", "Production", "staging "} {
		e, err := petcat.ParseEnvironment(name)
		wantCode(t, err, petcat.CodeInvalidField)
		if e != "" {
			t.Errorf("%q became %s", name, e)
		}
	}
}
