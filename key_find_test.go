package petcat_test

import (
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
		{"in a line of a log", `{"authorization":"Bearer ` + live + `"}`, []string{live}},
		{"in the order of the text, each once", test + " " + live2 + "\n" + live + "," + test, []string{test, live2, live}},
		{"one after the other", live + live2, []string{live, live2}},
		{"a beginning, then a key", "pck_live_" + live, []string{live}},
		{"cut off", live[:len(live)-1], nil},
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
