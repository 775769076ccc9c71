package client_test

import (
	"go/format"
	"os"
	"regexp"
	"strings"
	"testing"
)

// source returns a file of the package.
func source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	return string(text)
}

// TestReadme: what README.md shows are parts of the examples, which run as tests, and one
// program of at most fifteen lines, which is run in e2e/.
func TestReadme(t *testing.T) {
	examples := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(source(t, "example_test.go"), "")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(source(t, "README.md"), -1)
	programs := 0
	for _, block := range blocks {
		code := block[1]
		if !strings.HasPrefix(code, "package main\n") {
			if !strings.Contains(examples, code) {
				t.Errorf("no example has this part:\n%s", code)
			}
			continue
		}
		programs++
		if lines := strings.Count(code, "\n"); lines > 15 {
			t.Errorf("the program has %d lines, want at most 15", lines)
		}
		if formatted, err := format.Source([]byte(code)); err != nil || string(formatted) != code {
			t.Errorf("the program is not formatted; the error is %v", err)
		}
	}
	if programs != 1 || len(blocks) < 6 {
		t.Errorf("README.md has %d blocks of Go with %d programs", len(blocks), programs)
	}
}
