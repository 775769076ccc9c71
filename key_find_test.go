package petcat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petcat"
)

func TestKeysIn(t *testing.T) {
	random := seeded(3)
	made := func(env petcat.Environment) string {
		g, err := petcat.GenerateKey(env, random)
		if err != nil {
			t.Fatal(err)
		}
		return g.Secret.Reveal()
	}
	live, live2, test := made(petcat.Production), made(petcat.Production), made(petcat.Staging)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "no key", nil},
		{"the key", live, []string{live}},
		{"in a line of a log", `{"authorization":"Bearer ` + live + `"}`, []string{live}},
		{"in the order of the text, each once", test + " " + live2 + "\n" + live + "," + test, []string{test, live2, live}},
		{"one after the other", live + live2, []string{live, live2}},
		{"a beginning, then a key", "pck_live_" + live, []string{live}},
		{"cut off", live[:len(live)-1], nil},
		{"cut off, then a blank", live[:len(live)-1] + " ", nil},
		{"of another kind", strings.Replace(live, "live", "blue", 1), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, s := range petcat.KeysIn(c.text) {
				got = append(got, s.Reveal())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseKeyHint(t *testing.T) {
	g, err := petcat.GenerateKey(petcat.Production, seeded(4))
	if err != nil {
		t.Fatal(err)
	}
	if hint, err := petcat.ParseKeyHint(g.Hint); hint != g.Hint || err != nil {
		t.Errorf("ParseKeyHint(%q) = %q, %v", g.Hint, hint, err)
	}
	for _, s := range []string{"", "abc", "abcde", "ab-d", "ab…", g.Secret.Reveal()} {
		_, err := petcat.ParseKeyHint(s)
		if petcat.CodeOf(err) != petcat.CodeInvalidField || len(s) > 5 && strings.Contains(err.Error(), s) {
			t.Errorf("ParseKeyHint(%q) = %v", s, err)
		}
	}
}
