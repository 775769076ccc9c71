//go:build !windows

package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOutputToOtherKinds: a link's target is replaced and not the link, and a pipe is
// written to.
func TestOutputToOtherKinds(t *testing.T) {
	dir := t.TempDir()
	target, link, pipe := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	must(t, os.WriteFile(target, []byte("old"), 0o600))
	must(t, os.Symlink(target, link))
	must(t, syscall.Mkfifo(pipe, 0o600))
	reader := make(chan string, 1)
	go func() {
		text, err := os.ReadFile(pipe)
		reader <- string(text) + errorText(err)
	}()
	p := &program{isTerminal: func(any) bool { return false }}
	for _, path := range []string{link, pipe} {
		out, err := p.openOutput(path, path == link, false)
		must(t, err)
		_, err = io.WriteString(out, "new")
		must(t, err)
		must(t, out.keep())
		out.discard()
	}
	if got := <-reader; got != "new" {
		t.Errorf("the reader of the pipe got %q", got)
	}
	for path, want := range map[string]os.FileMode{target: 0, link: os.ModeSymlink, pipe: os.ModeNamedPipe} {
		info, err := os.Lstat(path)
		must(t, err)
		if got := info.Mode().Type(); got != want {
			t.Errorf("%s is a %v now", path, got)
		}
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "new" {
		t.Errorf("the target holds %q, %v", text, err)
	}
	must(t, os.Remove(target))
	if _, err := p.openOutput(link, true, false); exitCode(err) != exitUsage {
		t.Errorf("a link to nothing: %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
