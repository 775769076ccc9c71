package randomtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// seedsFolder is where a package's tests keep the seeds with which they failed.
const seedsFolder = "testdata/seeds"

// Run runs a test with a fresh seed, and before with each of those with which it once
// failed. The name of the subtest tells the seed. One with which it fails is kept.
func Run(t *testing.T, fn func(t *testing.T, seed uint64)) {
	t.Helper()
	for _, seed := range append(Kept(t), rand.Uint64()) {
		t.Run(fmt.Sprintf("seed %d", seed), func(sub *testing.T) {
			defer func() { // when it was ended, too
				if sub.Failed() {
					Keep(t, seed)
				}
			}()
			fn(sub, seed)
		})
	}
}

// Kept returns the seeds with which a test once failed.
func Kept(t testing.TB) (seeds []uint64) {
	t.Helper()
	text, err := os.ReadFile(seedsFile(t))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		seed, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedsFile(t), err)
		}
		seeds = append(seeds, seed)
	}
	return seeds
}

// Keep keeps a seed with which a test failed: the next runs begin with it. The file goes
// into the commit of what is mended.
func Keep(t testing.TB, seed uint64) {
	t.Helper()
	if slices.Contains(Kept(t), seed) {
		return
	}
	file := seedsFile(t)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = appendLine(file, strconv.FormatUint(seed, 10))
	}
	if err != nil {
		t.Errorf("seed %d cannot be kept: %v", seed, err)
		return
	}
	t.Logf("seed %d is kept in %s: commit it with what is mended", seed, file)
}

func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// seedsFile returns where the seeds of a test are.
func seedsFile(t testing.TB) string {
	t.Helper()
	return filepath.Join(filepath.FromSlash(seedsFolder), strings.ReplaceAll(t.Name(), "/", "_"))
}
