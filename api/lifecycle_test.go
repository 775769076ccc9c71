package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
)

// mark is the part of an operation that the registry and the document share.
type mark struct {
	ID, Method, Path, Stability, Level string
	Deprecated                         bool
	Sunset, Query                      string
}

// registered returns the marks of a registry.
func registered(operations []petcat.Operation) []mark {
	// oasdiff uses this word for experimental.
	levels := map[petcat.Stability]string{petcat.Stable: "stable", petcat.Beta: "beta", petcat.Experimental: "alpha"}
	var marks []mark
	for _, o := range operations {
		m := mark{
			ID:         string(o.ID),
			Method:     o.Method,
			Path:       o.Path,
			Stability:  string(o.Stability),
			Level:      levels[o.Stability],
			Deprecated: o.Deprecated(),
			Query:      strings.Join(o.Query, " "),
		}
		if !o.SunsetAt.IsZero() {
			m.Sunset = o.SunsetAt.Format(time.DateOnly)
		}
		marks = append(marks, m)
	}
	return sortMarks(marks)
}

// documented returns the marks of a document.
func documented(document *openapi3.T) []mark {
	var marks []mark
	for path, item := range document.Paths.Map() {
		for method, o := range item.Operations() {
			var query []string
			for _, p := range o.Parameters {
				if p.Value.In == openapi3.ParameterInQuery {
					query = append(query, p.Value.Name)
				}
			}
			marks = append(marks, mark{
				ID:         o.OperationID,
				Method:     method,
				Path:       path,
				Stability:  extension(o, "x-stability"),
				Level:      extension(o, "x-stability-level"),
				Deprecated: o.Deprecated,
				Sunset:     extension(o, "x-sunset"),
				Query:      strings.Join(query, " "),
			})
		}
	}
	return sortMarks(marks)
}

func sortMarks(marks []mark) []mark {
	slices.SortFunc(marks, func(a, b mark) int { return strings.Compare(a.ID, b.ID) })
	return marks
}

func TestRegistry(t *testing.T) {
	if diff := cmp.Diff(registered(petcat.Operations()), documented(load(t))); diff != "" {
		t.Errorf("operations (-registry +document):\n%s", diff)
	}
}

// TestDeprecatedOperations: the document describes deprecation headers, and the response after the
// sunset. It does not check shared error responses.
func TestDeprecatedOperations(t *testing.T) {
	for _, item := range load(t).Paths.Map() {
		for _, o := range item.Operations() {
			sunset := extension(o, "x-sunset") != ""
			changes := o.OperationID == string(petcat.OpListChanges) // whose cursors expire
			if documented := o.Responses.Value("410") != nil; documented != (sunset || changes) {
				t.Errorf("%s has a 410: %t, a sunset: %t", o.OperationID, documented, sunset)
			}
			for status, response := range o.Responses.Map() {
				if response.Ref != "" || status == "401" || status == "429" {
					continue
				}
				for name, want := range map[string]bool{
					"Deprecation": o.Deprecated,
					"Link":        o.Deprecated || changes && status == "200",
					"Sunset":      sunset,
				} {
					header := response.Value.Headers[name]
					if got := header != nil && header.Value.Required; got != want {
						t.Errorf("%s %s requires %s: %t, want %t", o.OperationID, status, name, got, want)
					}
				}
			}
		}
	}
}

// extension returns a string extension of an operation, or "".
func extension(o *openapi3.Operation, name string) string {
	text, _ := o.Extensions[name].(string)
	return text
}
