package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the path of the module, and of the package at its root.
const module = "petcat"

// planned are the packages that are designed and not there yet. Rules may name
// them already; a name that is neither here nor in the tree is a mistake. Who
// adds one of them takes it out of this list.
var planned = []string{
	module + "/client",
	module + "/internal/console",
}

// project is the repository as the tests see it.
type project struct {
	root  string
	files []string // slash-separated, relative to root, sorted; what .gitignore names is left out
	all   map[string]*goPackage
	own   []*goPackage // those of the module, by path
}

// goPackage is what "go list" tells of a package.
type goPackage struct {
	ImportPath, Dir, Name     string
	Standard                  bool
	Imports, Deps             []string
	TestImports, XTestImports []string
	GoFiles                   []string
	Module                    *struct{ Path, Version string }
}

// rel returns the package's path below the module, "." for the root.
func (p *goPackage) rel() string {
	if p.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

func (p *goPackage) standard() bool { return p.Standard || p.ImportPath == "C" }

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
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	p := &project{root: root, all: map[string]*goPackage{}}
	if p.files, err = listFiles(root); err != nil {
		return nil, err
	}
	return p, p.listPackages()
}

func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working directory")
		}
	}
}

// listFiles walks the tree by itself instead of asking git, so that the tests
// hold for a release's source archive too, and so that the go command notices
// that a cached result is out of date when a file appears.
func listFiles(root string) ([]string, error) {
	ignored, err := readIgnore(root)
	if err != nil {
		return nil, err
	}
	var files []string
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && (d.Name() == ".git" || ignored(rel, true)):
			return fs.SkipDir
		case d.Type().IsRegular() && d.Name() != ".git" && !ignored(rel, false):
			files = append(files, rel)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

// readIgnore reads .gitignore. It knows the plain forms alone, and refuses the
// others rather than misread them.
func readIgnore(root string) (func(rel string, isDir bool) bool, error) {
	text, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		return nil, err
	}
	type pattern struct {
		glob              string
		anchored, dirOnly bool
	}
	var patterns []pattern
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "!") || strings.Contains(line, "**") {
			return nil, errors.New(".gitignore: archtest does not understand " + line)
		}
		glob, dirOnly := strings.CutSuffix(line, "/")
		patterns = append(patterns, pattern{strings.TrimPrefix(glob, "/"), strings.Contains(glob, "/"), dirOnly})
	}
	return func(rel string, isDir bool) bool {
		return slices.ContainsFunc(patterns, func(p pattern) bool {
			name := rel
			if !p.anchored {
				name = path.Base(rel)
			}
			match, _ := path.Match(p.glob, name)
			return match && (isDir || !p.dirOnly)
		})
	}, nil
}

// listPackages asks the go command, as if for the machine that releases are
// built for, so that the answers are the same everywhere.
func (p *project) listPackages() error {
	cmd := exec.Command("go", "list", "-e", "-deps",
		"-json=ImportPath,Dir,Name,Standard,Imports,Deps,TestImports,XTestImports,GoFiles,Module", "./...")
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
		if pkg.Module != nil && pkg.Module.Path == module && p.holds(&pkg) {
			p.own = append(p.own, &pkg)
		}
	}
	slices.SortFunc(p.own, func(a, b *goPackage) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	if len(p.own) == 0 {
		return errors.New("go list found no package of ours")
	}
	return nil
}

// holds reports whether a package has a file that belongs to the repository.
func (p *project) holds(pkg *goPackage) bool {
	return slices.ContainsFunc(p.files, func(f string) bool {
		return path.Dir(f) == pkg.rel() && strings.HasSuffix(f, ".go")
	})
}

// find returns a package of ours, or nil when it is planned.
func (p *project) find(t *testing.T, importPath string) *goPackage {
	t.Helper()
	if i := slices.IndexFunc(p.own, func(pkg *goPackage) bool { return pkg.ImportPath == importPath }); i >= 0 {
		return p.own[i]
	}
	if !slices.Contains(planned, importPath) {
		t.Errorf("a rule names the package %s, which is neither there nor planned", importPath)
	}
	return nil
}

func (p *project) read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (p *project) exists(file string) bool {
	_, err := os.Stat(filepath.Join(p.root, filepath.FromSlash(file)))
	return err == nil
}

// matching returns the files that end so. There must be some: a test that looks
// at nothing passes for the wrong reason.
func (p *project) matching(t *testing.T, suffix string) []string {
	t.Helper()
	var found []string
	for _, f := range p.files {
		if strings.HasSuffix(f, suffix) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no file ends in %s", suffix)
	}
	return found
}

// goOutput runs the go command at the root.
func (p *project) goOutput(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = p.root
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, failed.Stderr)
		}
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

func TestPlannedPackagesAreNotThere(t *testing.T) {
	p := loadProject(t)
	for _, name := range planned {
		if slices.ContainsFunc(p.own, func(pkg *goPackage) bool { return pkg.ImportPath == name }) {
			t.Errorf("%s is there now: take it out of the list of planned packages", name)
		}
	}
}
