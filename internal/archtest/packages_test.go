package archtest

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// The longest that a file may be, in lines. What is longer is two things.
const (
	maxSourceLines = 400
	maxTestLines   = 800
)

// sources parses the package's files, those that another platform or build tag
// selects among them, but not its tests.
func (p *project) sources(t *testing.T, pkg *goPackage) (*token.FileSet, map[string]*ast.File) {
	t.Helper()
	fset, files := token.NewFileSet(), map[string]*ast.File{}
	for _, file := range p.files {
		if path.Dir(file) != pkg.rel() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(fset, filepath.Join(p.root, file), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[file] = parsed
	}
	return fset, files
}

func TestPackagesAreDocumentedOnce(t *testing.T) {
	p := loadProject(t)
	for _, pkg := range p.own {
		_, files := p.sources(t, pkg)
		var documented []string
		for _, name := range sorted(files) {
			file := files[name]
			if file.Doc == nil {
				continue
			}
			documented = append(documented, name)
			first := new(doc.Package).Synopsis(file.Doc.Text())
			want := "Package " + file.Name.Name + " "
			if file.Name.Name == "main" {
				want = "Command " + path.Base(pkg.rel()) + " "
			}
			if !strings.HasPrefix(first, want) {
				t.Errorf("%s: the package's comment begins %q, not %q", name, first, want)
			}
		}
		if len(files) > 0 && len(documented) != 1 {
			t.Errorf("%s: one file has the package's comment, not %d %v", pkg.ImportPath, len(documented), documented)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	p := loadProject(t)
	for _, file := range p.matching(t, ".go") {
		text := p.read(t, file)
		limit := maxSourceLines
		if strings.HasSuffix(file, "_test.go") {
			limit = maxTestLines
		}
		generated := strings.HasPrefix(text, "// Code generated ")
		if lines := strings.Count(text, "\n"); lines > limit && !generated {
			t.Errorf("%s has %d lines; split it before %d", file, lines, limit)
		}
	}
}

// mutable are the package-level variables that may change, each with the
// reason. Everything else that changes belongs to a value that somebody made,
// so that two of them can live in one process, as in a test.
var mutable = map[string]string{}

func TestNoPackageLevelState(t *testing.T) {
	p := loadProject(t)
	excused := map[string]bool{}
	for _, pkg := range p.own {
		fset, files := p.sources(t, pkg)
		state := newStateFinder(files)
		for _, found := range state.find() {
			name := pkg.rel() + "." + found.name
			if mutable[name] != "" {
				excused[name] = true
				continue
			}
			t.Errorf("%s: %s", fset.Position(found.at), found.problem)
		}
	}
	for _, name := range sorted(mutable) {
		if !excused[name] {
			t.Errorf("%s is excused from being constant, and needs it no longer", name)
		}
	}
}
