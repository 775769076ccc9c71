package petcat_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"petcat"
)

// Codes lists every constant of the type, once.
func TestCodesAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []petcat.Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
			for _, v := range spec.Values {
				text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, petcat.Code(text))
			}
		}
		return true
	})
	listed := petcat.Codes()
	slices.Sort(declared)
	slices.Sort(listed)
	if len(declared) < 20 || !slices.Equal(declared, listed) {
		t.Errorf("declared %v\nlisted %v", declared, listed)
	}
	for _, code := range listed {
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(string(code)) {
			t.Errorf("the code %q is not lower_snake", code)
		}
	}
}

func TestPublic(t *testing.T) {
	inner := errors.New("dial tcp 10.0.0.7: refused")
	own := petcat.Errorf(petcat.CodeNotFound, "no category %d", 7)
	for _, c := range []struct {
		name    string
		err     error
		code    petcat.Code
		message string
	}{
		{"own", own, petcat.CodeNotFound, "no category 7"},
		{"own, wrapped", fmt.Errorf("read: %w", own), petcat.CodeNotFound, "no category 7"},
		{"own, joined", errors.Join(inner, own), petcat.CodeNotFound, "no category 7"},
		{"own with a cause", own.WithCause(inner), petcat.CodeNotFound, "no category 7"},
		{"the outermost speaks", petcat.Errorf(petcat.CodeServiceUnavailable, "later").WithCause(own), petcat.CodeServiceUnavailable, "later"},
		{"anything else", inner, petcat.CodeInternalError, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantCode(t, c.err, c.code)
			public := petcat.Public(c.err)
			if c.message != "" && public.Message != c.message {
				t.Errorf("message %q, want %q", public.Message, c.message)
			}
			if strings.Contains(public.Message, "10.0.0.7") {
				t.Errorf("the message shows the cause: %s", public.Message)
			}
		})
	}
	wantCode(t, nil, "")
}

func TestErrorRemembersItsCause(t *testing.T) {
	inner := errors.New("inner")
	own := petcat.Errorf(petcat.CodeNotFound, "no such key")
	caused := own.WithCause(inner)
	if !errors.Is(caused, inner) || errors.Is(own, inner) {
		t.Error("the cause is not in the copy, or it is in the original")
	}
	if got, want := caused.Error(), "not_found: no such key: inner"; got != want {
		t.Errorf("for the log %q, want %q", got, want)
	}
	if got, want := own.Error(), "not_found: no such key"; got != want {
		t.Errorf("for the log %q, want %q", got, want)
	}
	if public := petcat.Public(inner); !errors.Is(public, inner) {
		t.Error("an internal error forgot what happened")
	}
}
