//go:build !windows

package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestOutputToLink checks that the target of a link is replaced, not the link.
func TestOutputToLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	must(t, os.WriteFile(target, []byte("old"), 0o600))
	must(t, os.Symlink(target, link))
	p := &program{}
	out, err := p.openOutput(link, true, false)
	must(t, err)
	_, err = io.WriteString(out, "new")
	must(t, err)
	must(t, out.keep())
	out.discard()
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link has become a %v, %v", info, err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "new" {
		t.Errorf("the target contains %q, %v", text, err)
	}
	must(t, os.Remove(target))
	for _, path := range []string{link, dir} {
		if _, err := p.openOutput(path, true, false); exitCode(err) != exitUsage {
			t.Errorf("%s: %v", path, err)
		}
	}
}
