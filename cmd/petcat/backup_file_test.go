package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackupReplacesNothing: also what was made while the backup ran stays, unless
// --force was given.
func TestBackupReplacesNothing(t *testing.T) {
	for _, force := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.backup")
		p := &program{isTerminal: func(any) bool { return false }}
		out, err := p.openOutput(path, force, false)
		must(t, err)
		_, err = out.Write([]byte("new"))
		must(t, err)
		must(t, os.WriteFile(path, []byte("old"), 0o600))
		err = out.keep()
		out.discard()
		want := "new"
		if !force {
			want = "old"
			if exitCode(err) != exitUsage || !strings.Contains(err.Error(), "a.backup already exists; choose another name") {
				t.Errorf("keep = %v", err)
			}
		} else {
			must(t, err)
		}
		got, err := os.ReadFile(path)
		must(t, err)
		files, err := os.ReadDir(dir)
		must(t, err)
		if string(got) != want || len(files) != 1 {
			t.Errorf("with --force %t the file holds %q among %v; want it alone, with %q", force, got, files, want)
		}
	}
}
