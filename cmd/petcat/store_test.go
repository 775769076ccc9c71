package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChangesNameTheirTarget: whoever writes through [program.withStore] does not say
// where.
func TestChangesNameTheirTarget(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	changing := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		changing += strings.Count(string(text), "p.changeStore(")
		for _, part := range strings.Split(string(text), "p.withStore(")[1:] {
			if command, _, _ := strings.Cut(part, "\n\treturn cmd\n"); strings.Contains(command, "actor()") {
				t.Errorf("%s: this changes something, so it has to use changeStore: %.200s", file, command)
			}
		}
	}
	if changing < 7 {
		t.Errorf("found %d commands that change something", changing)
	}
}
