package osfile

import (
	"errors"
	"io/fs"
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

// TestDraft: a draft has its name when it is kept, and takes it from no other file unless
// it is told to. One that is not kept leaves nothing.
func TestDraft(t *testing.T) {
	for _, tt := range []struct {
		name                     string
		exists, replace, refused bool
		want                     string
	}{
		{name: "a free name", want: "new"},
		{name: "a taken name", exists: true, refused: true, want: "old"},
		{name: "a taken name that may be replaced", exists: true, replace: true, want: "new"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "directory")
			must(t, PrepareDirectory(dir))
			path := filepath.Join(dir, "a")
			d, err := NewDraft(path)
			must(t, err)
			_, err = d.WriteString("new")
			must(t, err)
			if matches, err := filepath.Match(DraftPattern("a"), filepath.Base(d.Name())); err != nil || !matches {
				t.Errorf("the draft is called %s", d.Name())
			}
			if tt.exists {
				must(t, os.WriteFile(path, []byte("old"), 0o600))
			}
			if err := d.Keep(tt.replace); errors.Is(err, fs.ErrExist) != tt.refused || !tt.refused && err != nil {
				t.Errorf("keep = %v", err)
			}
			d.Discard()
			entries, err := os.ReadDir(dir)
			must(t, err)
			got, err := os.ReadFile(path)
			must(t, err)
			if len(entries) != 1 || string(got) != tt.want {
				t.Errorf("there are %v, and the file holds %q; want it alone, with %q", entries, got, tt.want)
			}
		})
	}
}
