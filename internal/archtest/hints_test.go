package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCommandsAreNamedByTheCommandLine: a store once told the user which command lists
// the accounts, and which flag chooses another directory. Its errors, and the domain's,
// also reach callers of the API and other front ends, who have no such commands, and
// whoever renames a flag does not look for it there. So they say what is wrong, and
// cmd/petcat adds what to type.
func TestCommandsAreNamedByTheCommandLine(t *testing.T) {
	p := loadProject(t)
	typed := regexp.MustCompile(`\bpetcat ` + commandNames + `\b|(^|[^-\w])--[a-z]`)
	for _, file := range p.matching(t, `^(internal/(datadir|openerror|postgres|sqlite|store)/.*|[^/]+)\.go$`) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.root, file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && typed.MatchString(text.Value) {
				t.Errorf("%s names a command or a flag: %s", file, text.Value)
			}
			return true
		})
	}
}
