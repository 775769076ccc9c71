package storetest

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sql matches parts of SQL statements.
var sql = regexp.MustCompile(`\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|ON CONFLICT|ORDER BY)\b`)

// WantStatements fails the test unless the suite ran every statement in the source of package
// store. The suite runs the same statements on both databases. ran has all statements that were
// run, with question marks.
func WantStatements(t *testing.T, ran []string) {
	t.Helper()
	files, err := filepath.Glob("../store/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("the source of package store: %v, %v", files, err)
	}
	set := gotoken.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "backup.go" { // tested by package backup
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != gotoken.STRING || !sql.MatchString(literal.Value) {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil || !slices.ContainsFunc(ran, func(statement string) bool { return strings.Contains(statement, text) }) {
				t.Errorf("%s: no test ran %s", set.Position(literal.Pos()), text)
			}
			return true
		})
	}
}
