package store

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var placeholder = regexp.MustCompile(`\$([0-9]+)`)

// TestPlaceholders: both drivers number placeholders as they stand in the text, so a statement has
// $1 to $n and no question mark.
func TestPlaceholders(t *testing.T) {
	set := token.NewFileSet()
	for _, name := range []string{
		"access.go", "account.go", "audit.go", "backup.go", "ban.go", "category.go", "clean.go", "create.go", "customer.go",
		"idempotency.go", "key.go", "many.go", "meta.go", "node.go", "once.go", "operator.go", "pet.go", "session.go", "tx.go",
	} {
		file, err := parser.ParseFile(set, filepath.Join(".", name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			var text strings.Builder
			ast.Inspect(spec.Values[0], func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					text.WriteString(l.Value)
				}
				return true
			})
			highest, seen := 0, map[int]bool{}
			for _, m := range placeholder.FindAllStringSubmatch(text.String(), -1) {
				number, _ := strconv.Atoi(m[1])
				seen[number], highest = true, max(highest, number)
			}
			if len(seen) != highest || strings.Contains(text.String(), "?") {
				t.Errorf("%s: %s has the placeholders %v", set.Position(spec.Pos()), spec.Names[0].Name, seen)
			}
			return true
		})
	}
}
