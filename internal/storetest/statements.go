package storetest

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Statement is an SQL statement in the source of package store: a constant, or the constant beginning of
// a query with a filter.
type Statement struct {
	Text string
	At   gotoken.Position
}

// sql matches the beginning of a statement, but not one that ends before the name of a table.
var sql = regexp.MustCompile(`^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\s+\S`)

// Statements returns all statements of package store. The test must be in a folder next to it.
func Statements(t testing.TB) (all []Statement) {
	t.Helper()
	set := gotoken.NewFileSet()
	files := parseStore(t, set)
	info := types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
	// The constants do not depend on other packages, so errors about those do not matter.
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	_, _ = config.Check("store", set, files, &info)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if _, name := n.(*ast.Ident); !ok || name { // a name's constant is found where it is declared
				return true
			}
			text, known := textOf(info.Types[e])
			if l, literal := n.(*ast.BasicLit); literal && l.Kind == gotoken.STRING && !known {
				known, text = true, strings.Trim(l.Value, "`\"") // an import, or the checker has missed it
			}
			if !known || !sql.MatchString(text) {
				return true
			}
			all = append(all, Statement{text, set.Position(e.Pos())})
			return false
		})
	}
	if len(all) == 0 {
		t.Fatal("package store has no statements")
	}
	return all
}

// textOf returns the value of a constant text.
func textOf(e types.TypeAndValue) (text string, ok bool) {
	if e.Value == nil || e.Value.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(e.Value), true
}

func parseStore(t testing.TB, set *gotoken.FileSet) (files []*ast.File) {
	t.Helper()
	names := must(filepath.Glob("../store/*.go"))
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must(parser.ParseFile(set, name, nil, 0))
		files = append(files, file)
	}
	return files
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }
