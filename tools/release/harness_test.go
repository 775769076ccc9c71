package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// maintainer is that of the tests' packages.
const maintainer = "Example <packages@example.com>"

// built are two releases of this tree, each from a copy in a folder of its own. The
// tests share them.
var built = sync.OnceValues(func() (pair [2]*release, err error) {
	for i, name := range []string{"one", "a folder with a longer name"} {
		root := filepath.Join(shared, name)
		if err := copyTree("../..", root); err != nil {
			return pair, err
		}
		pair[i] = &release{
			root: root, out: filepath.Join(root, "dist"), version: "1.2.3", maintainer: maintainer, revision: strings.Repeat("0123456789", 4),
			when: time.Date(2026, 11, 20, 23, 12, 2, 0, time.UTC), platforms: released(),
		}
		if err := pair[i].make(context.Background()); err != nil {
			return pair, err
		}
	}
	return pair, nil
})

// mustBuild returns the two releases.
func mustBuild(t *testing.T) [2]*release {
	t.Helper()
	pair, err := built()
	must(t, err)
	return pair
}

// shared is a folder that is removed after all tests.
var shared string

func TestMain(m *testing.M) {
	var err error
	if shared, err = os.MkdirTemp("", "petcat-release-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(shared)
	os.Exit(code)
}

// copyTree copies the repository as it is, with what is not committed, and without what
// git ignores.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		if d.IsDir() {
			switch below {
			case ".git", "bin", "data", "dist", "bench", "tools":
				return fs.SkipDir
			}
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
