package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the path of the module, and of the package at its root.
const module = "petcat"

// maxSourceLines and maxTestLines are the longest that a file may be. What is
// longer is two things.
const (
	maxSourceLines = 400
	maxTestLines   = 800
)

// maxFileBytes is more than any file needs. The largest is the script of the reference page.
const maxFileBytes = 2 << 20

// project is the repository as the tests see it.
type project struct {
	root  string
	files []string // slash-separated, relative to root, sorted
	all   map[string]*goPackage
	own   []*goPackage // those of the module, by path
}

// goPackage is what "go list" tells of a package.
type goPackage struct {
	ImportPath                string
	Standard                  bool
	GoFiles, EmbedFiles       []string
	Imports, Deps             []string
	TestImports, XTestImports []string
	Module                    *struct{ Path, Version string }
}

var loadOnce = sync.OnceValues(load)

func loadProject(t *testing.T) *project {
	t.Helper()
	p, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func load() (*project, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	p := &project{root: root, all: map[string]*goPackage{}}
	if p.files, err = listFiles(root); err != nil {
		return nil, err
	}
	return p, p.listPackages()
}

// listFiles walks the tree by itself instead of asking git, so that the tests
// hold for a release's source archive too, and so that the go command notices
// that a cached result is out of date when a file appears. It leaves out what
// .gitignore names.
func listFiles(root string) ([]string, error) {
	ignored := regexp.MustCompile(`(^|/)(\.git|node_modules|bench/results/scratch)$|^(bin|data|dist|petcat)$|\.(test|prof|tmp)$`)
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && ignored.MatchString(name):
			return fs.SkipDir
		case d.Type().IsRegular() && !ignored.MatchString(name):
			files = append(files, name)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

// listPackages asks the go command, as if for the machine that releases are
// built for, so that the answers are the same everywhere.
func (p *project) listPackages() error {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,GoFiles,EmbedFiles,Imports,Deps,TestImports,XTestImports,Module", "./...")
	cmd.Dir = p.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return errors.New("go list: " + err.Error() + "\n" + stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg goPackage
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		p.all[pkg.ImportPath] = &pkg
		if pkg.Module != nil && pkg.Module.Path == module {
			p.own = append(p.own, &pkg)
		}
	}
	if len(p.own) == 0 {
		return errors.New("go list found no package of ours")
	}
	return nil
}

// find returns a package of ours.
func (p *project) find(t *testing.T, importPath string) *goPackage {
	t.Helper()
	pkg := p.all[importPath]
	if pkg == nil {
		t.Fatalf("a rule names the package %s, which is not there", importPath)
	}
	return pkg
}

func (p *project) read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// matching returns the files whose paths match. There must be some: a test that
// looks at nothing passes for the wrong reason.
func (p *project) matching(t *testing.T, pattern string) []string {
	t.Helper()
	like := regexp.MustCompile(pattern)
	var found []string
	for _, f := range p.files {
		if like.MatchString(f) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no file is like %s", pattern)
	}
	return found
}

// text returns the files whose paths match, one after the other.
func (p *project) text(t *testing.T, pattern string) string {
	t.Helper()
	var all strings.Builder
	for _, file := range p.matching(t, pattern) {
		all.WriteString(p.read(t, file))
	}
	return all.String()
}

// submatch returns what a pattern's group finds in a text, which must be there.
func submatch(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("nothing looks like %s", pattern)
	}
	return m[1]
}

// submatches returns what a pattern's group finds, each time.
func submatches(text, pattern string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func TestFilesAreShort(t *testing.T) {
	p := loadProject(t)
	for _, file := range p.matching(t, `\.go$`) {
		limit := maxSourceLines
		if strings.HasSuffix(file, "_test.go") {
			limit = maxTestLines
		}
		text := p.read(t, file)
		if lines := strings.Count(text, "\n"); lines > limit && !strings.HasPrefix(text, "// Code generated ") {
			t.Errorf("%s has %d lines; split it before %d", file, lines, limit)
		}
	}
}

// TestFilesAreSmall: a program that is committed by mistake stays in the history for ever.
func TestFilesAreSmall(t *testing.T) {
	p := loadProject(t)
	for _, file := range p.files {
		if bytes := len(p.read(t, file)); bytes > maxFileBytes {
			t.Errorf("%s has %d bytes; is it a program that somebody built?", file, bytes)
		}
	}
}

// TestNoTraceOfTheWorkplace: the repository speaks of the product alone. The
// patterns are put together so that this file does not match itself.
func TestNoTraceOfTheWorkplace(t *testing.T) {
	p := loadProject(t)
	traces := map[string]*regexp.Regexp{
		"a path of somebody's machine": regexp.MustCompile(`(^|[\s"'(=])/(work|home/[a-z]+|Users/[A-Za-z]+|tmp/[a-z]+)` + `/`),
		"a folder beside the checkout": regexp.MustCompile(`\.\./` + `shared`),
		"a package registry's address": regexp.MustCompile(`(proxy|sum)\.golang` + `\.org|registry\.npmjs` + `\.org|registry\.yarnpkg` + `\.com`),
		"an issue by its number":       regexp.MustCompile(`(?i)\bissues? #?` + `[0-9]`),
	}
	for _, file := range p.files {
		text := p.read(t, file)
		for _, what := range sorted(traces) {
			if m := traces[what].FindString(text); m != "" {
				t.Errorf("%s holds %s: %q", file, what, m)
			}
		}
	}
}
