package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stateFinder looks for package-level variables that can change, and for init
// functions. It sees syntax alone, which suffices: a variable is state when its
// package assigns to it or to a part of it, takes its address, or makes it of a
// type that is there to be changed.
type stateFinder struct {
	files map[string]*ast.File
	vars  map[string]*ast.Ident
	found []finding
}

type finding struct {
	name    string
	at      token.Pos
	problem string
}

// changing are the packages whose types are there to be changed, and the types
// of them that are not.
var (
	changing = []string{"sync", "atomic"}
	harmless = []string{
		"sync.Pool",                         // holds nothing that anybody would miss
		"sync.OnceValue", "sync.OnceValues", // a constant that is computed when it is first asked for
	}
)

func newStateFinder(files map[string]*ast.File) *stateFinder {
	return &stateFinder{files: files, vars: map[string]*ast.Ident{}}
}

func (s *stateFinder) find() []finding {
	for _, name := range sorted(s.files) {
		s.declarations(s.files[name])
	}
	for _, name := range sorted(s.files) {
		for _, decl := range s.files[name].Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				s.function(f)
			}
		}
	}
	return s.found
}

func (s *stateFinder) report(name string, at token.Pos, format string, args ...any) {
	s.found = append(s.found, finding{name, at, fmt.Sprintf(format, args...)})
}

func (s *stateFinder) declarations(file *ast.File) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				s.report("init", d.Pos(), "init runs before anybody asked for it; make a constructor")
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					s.variable(v)
				}
			}
		}
	}
}

func (s *stateFinder) variable(v *ast.ValueSpec) {
	for _, name := range v.Names {
		if name.Name == "_" {
			continue
		}
		s.vars[name.Name] = name
		for _, part := range append([]ast.Expr{v.Type}, v.Values...) {
			if used := changingType(part); used != "" {
				s.report(name.Name, name.Pos(), "%s is package-level state (%s); put it into a value that somebody makes", name.Name, used)
				break
			}
		}
	}
}

// changingType returns the type in an expression that is there to be changed.
func changingType(e ast.Expr) (name string) {
	if e == nil {
		return ""
	}
	ast.Inspect(e, func(n ast.Node) bool {
		if _, isFunc := n.(*ast.FuncLit); isFunc {
			return false
		}
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(changing, pkg.Name) {
			if full := pkg.Name + "." + sel.Sel.Name; !slices.Contains(harmless, full) {
				name = full
			}
		}
		return true
	})
	return name
}

// function looks for changes of package-level variables. A local variable of
// the same name hides one: then nothing is said.
func (s *stateFinder) function(f *ast.FuncDecl) {
	local := localNames(f)
	changed := func(e ast.Expr, how string) {
		if name := base(e); name != nil && s.vars[name.Name] != nil && !local[name.Name] {
			s.report(name.Name, name.Pos(), "the package-level variable %s is %s", name.Name, how)
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					changed(e, "assigned to")
				}
			}
		case *ast.IncDecStmt:
			changed(n.X, "counted up or down")
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				changed(n.X, "handed out by its address")
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				changed(n.Key, "assigned to")
			}
		}
		return true
	})
}

// base returns the variable that an expression is a part of.
func base(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.IndexExpr:
		return base(e.X)
	case *ast.SelectorExpr:
		return base(e.X)
	case *ast.StarExpr:
		return base(e.X)
	case *ast.ParenExpr:
		return base(e.X)
	case *ast.SliceExpr:
		return base(e.X)
	default:
		return nil
	}
}

func localNames(f *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok {
			names[id.Name] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					add(e)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key)
				add(n.Value)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		}
		return true
	})
	return names
}

// TestStateFinder shows that the finder is not blind.
func TestStateFinder(t *testing.T) {
	const source = `package p

import ("errors"; "sync"; "sync/atomic")

var (
	ErrX    = errors.New("x")       // fine
	table   = map[string]int{}      // fine: nobody changes it
	cache   = map[string]int{}      // written
	count   int                     // counted
	mu      sync.Mutex              // state by its type
	seen    atomic.Int64            // state by its type
	pool    = sync.Pool{}           // holds nothing
	once    = sync.OnceValue(f)     // computed once
	handed  [4]int                  // its address leaves
	shadow  int                     // hidden by a local
)

func init() { cache["a"] = 1 }

func f() int {
	count++
	shadow := 1
	shadow++
	g(&handed)
	return table["a"] + shadow
}

func g(*[4]int) {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, found := range newStateFinder(map[string]*ast.File{"p.go": file}).find() {
		names = append(names, found.name)
	}
	if diff := cmp.Diff([]string{"mu", "seen", "init", "cache", "count", "handed"}, names); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}
