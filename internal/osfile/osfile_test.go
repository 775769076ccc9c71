package osfile

import (
	"os"
	"path/filepath"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDraft: a draft has its name, in the place of another file, when it is kept. One that is
// not kept leaves nothing.
func TestDraft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "directory")
	must(t, PrepareDirectory(dir))
	path := filepath.Join(dir, "a")
	for _, text := range []string{"a long text", "short"} {
		d, err := NewDraft(path)
		must(t, err)
		_, err = d.WriteString(text)
		must(t, err)
		if matches, err := filepath.Match(DraftPattern("a"), filepath.Base(d.Name())); err != nil || !matches {
			t.Errorf("the draft is called %s", d.Name())
		}
		must(t, d.Keep())
		other, err := NewDraft(path)
		must(t, err)
		other.Discard()
		entries, err := os.ReadDir(dir)
		must(t, err)
		got, err := os.ReadFile(path)
		must(t, err)
		if len(entries) != 1 || string(got) != text {
			t.Errorf("there are %v, and the file holds %q; want it alone, with %q", entries, got, text)
		}
	}
}
