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

// wantOnly checks that a directory holds one file.
func wantOnly(t *testing.T, dir, name, content string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	got, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	if len(entries) != 1 || string(got) != content {
		t.Errorf("there are %v, and %s holds %q; want it alone, with %q", entries, name, got, content)
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
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			d, err := NewDraft(path)
			must(t, err)
			defer d.Discard()
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
			wantOnly(t, dir, "a", tt.want)
		})
	}
}

// TestTakeName: a file gets a free name and no other, with hard links and without.
func TestTakeName(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for name, take := range map[string]func(from, to string) error{"link": takeName, "without links": takeNameAlone} {
		must(t, os.WriteFile(from, []byte("new"), 0o600))
		must(t, take(from, to))
		wantOnly(t, dir, "to", "new")
		must(t, os.WriteFile(from, []byte("newer"), 0o600))
		if err := take(from, to); !os.IsExist(err) {
			t.Errorf("%s: a taken name: %v", name, err)
		}
		must(t, os.Remove(from))
		wantOnly(t, dir, "to", "new")
		must(t, os.Remove(to))
	}
}
