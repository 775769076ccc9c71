package backup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/petcat-api/petcat/internal/clocktest"
)

// TestFolder: of a deployment's backups, the newest are kept. Other files stay.
func TestFolder(t *testing.T) {
	st := filled(t, 1)
	c := clocktest.NewManual(noon)
	f := Folder{
		Path:        t.TempDir(),
		Environment: st.Environment(),
		Dataset:     st.Dataset(),
		Version:     "test",
	}
	must(t, os.WriteFile(filepath.Join(f.Path, "petcat-production-other-20260304T120000Z.backup"), nil, 0o600))
	var names []string
	for range 3 {
		path, i, err := f.Write(t.Context(), st, c)
		must(t, err)
		must(t, f.Keep(2, path))
		if !i.TakenAt.Equal(c.Read().Time()) {
			t.Errorf("the backup is from %s, want %s", i.TakenAt, c.Read().Time())
		}
		if _, findings, err := Verify(t.Context(), path); err != nil || len(findings) > 0 {
			t.Errorf("the backup has the faults %q, %v", findings, err)
		}
		names = append(names, filepath.Base(path))
		c.Advance(time.Hour)
	}
	want := append(names[1:], "petcat-production-other-20260304T120000Z.backup")
	if got := filesIn(t, f.Path); !slices.Equal(got, want) {
		t.Errorf("got the files %v, want %v", got, want)
	}
}

// TestFolderDrafts: drafts of killed processes are deleted, but not the drafts that others write.
func TestFolderDrafts(t *testing.T) {
	f := Folder{Path: t.TempDir(), Environment: "production", Dataset: "DATASET1"}
	old, fresh := ".petcat-production-DATASET1-1.backup.1", ".petcat-production-DATASET1-2.backup.2"
	for name, written := range map[string]time.Time{old: noon.Add(-time.Minute), fresh: noon} {
		path := filepath.Join(f.Path, name)
		must(t, os.Mkdir(path, 0o700))
		must(t, os.WriteFile(filepath.Join(path, "draft"), nil, 0o600))
		must(t, os.Chtimes(filepath.Join(path, "draft"), written, written))
		must(t, os.Chtimes(path, noon.Add(-time.Hour), noon.Add(-time.Hour))) // writing a file does not change it
	}
	must(t, f.RemoveDrafts(noon))
	if got := filesIn(t, f.Path); !slices.Equal(got, []string{fresh}) {
		t.Errorf("got the files %v, want %s", got, fresh)
	}
}

// filesIn returns the sorted names of the files in a directory.
func filesIn(t *testing.T, directory string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
