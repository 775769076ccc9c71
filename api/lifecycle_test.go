package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"petcat"
)

// mark is what the registry and the document both say of an operation.
type mark struct {
	ID, Method, Path, Stability, Level string
	Deprecated                         bool
	Sunset                             string
}

// registered returns the marks of a registry.
func registered(operations []petcat.Operation) []mark {
	// Tools that compare documents know this word for experimental.
	levels := map[petcat.Stability]string{petcat.Stable: "stable", petcat.Beta: "beta", petcat.Experimental: "alpha"}
	var marks []mark
	for _, o := range operations {
		m := mark{string(o.ID), o.Method, o.Path, string(o.Stability), levels[o.Stability], o.Deprecated(), ""}
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
			marks = append(marks, mark{
				o.OperationID, method, path, extension(o, "x-stability"), extension(o, "x-stability-level"), o.Deprecated, extension(o, "x-sunset"),
			})
		}
	}
	return sortMarks(marks)
}

func sortMarks(marks []mark) []mark {
	slices.SortFunc(marks, func(a, b mark) int { return strings.Compare(a.ID, b.ID) })
	return marks
}

func TestOperationsAreTheRegistrys(t *testing.T) {
	if diff := cmp.Diff(registered(petcat.Operations()), documented(load(t))); diff != "" {
		t.Errorf("operations (-registry +document):\n%s", diff)
	}
}

// ending marks an operation as deprecated, behind its id.
const ending = createID + "      deprecated: true\n      x-sunset: '2027-01-31'\n"

// TestMarksAreCompared shows that the comparison sees each mark, before an operation
// has them.
func TestMarksAreCompared(t *testing.T) {
	first := string(readFile(t, releasedName(1)))
	document := documented(parse(t, []byte(edited(t, first, marked("experimental", "alpha"), replace(createID, ending)))))
	operations := []petcat.Operation{
		{ID: "listCategories", Method: "GET", Path: "/categories", Stability: petcat.Stable},
		{
			ID: "createCategory", Method: "POST", Path: "/categories", Stability: petcat.Experimental,
			DeprecatedAt: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), SunsetAt: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC),
		},
	}
	if diff := cmp.Diff(registered(operations), document); diff != "" {
		t.Errorf("operations (-registry +document):\n%s", diff)
	}
	for name, change := range map[string]func(*petcat.Operation){
		"id":         func(o *petcat.Operation) { o.ID = "addCategory" },
		"method":     func(o *petcat.Operation) { o.Method = "PUT" },
		"path":       func(o *petcat.Operation) { o.Path = "/category" },
		"stability":  func(o *petcat.Operation) { o.Stability = petcat.Beta },
		"deprecated": func(o *petcat.Operation) { o.DeprecatedAt = time.Time{} },
		"sunset":     func(o *petcat.Operation) { o.SunsetAt = o.SunsetAt.AddDate(0, 0, 1) },
		"no sunset":  func(o *petcat.Operation) { o.SunsetAt = time.Time{} },
	} {
		changed := slices.Clone(operations)
		change(&changed[1])
		if cmp.Equal(registered(changed), document) {
			t.Errorf("another %s is not noticed", name)
		}
	}
	if cmp.Equal(registered(operations[:1]), document) || cmp.Equal(registered(append(operations, petcat.Operation{ID: "x"})), document) {
		t.Error("an operation too few or too many is not noticed")
	}
}

// lifecycleGaps tells what the document does not say of operations that are
// deprecated: the headers of their answers, and the answer after the sunset. It is held
// to those answers that are the operation's own; some errors are shared.
func lifecycleGaps(document *openapi3.T) []string {
	var gaps []string
	for _, item := range document.Paths.Map() {
		for _, o := range item.Operations() {
			sunset := extension(o, "x-sunset") != ""
			if documented := o.Responses.Value("410") != nil; documented != sunset {
				gaps = append(gaps, fmt.Sprintf("%s has a 410: %t, a sunset: %t", o.OperationID, documented, sunset))
			}
			for status, answer := range o.Responses.Map() {
				if answer.Ref != "" || status == "401" || status == "429" {
					continue
				}
				for name, want := range map[string]bool{"Deprecation": o.Deprecated, "Link": o.Deprecated, "Sunset": sunset} {
					header := answer.Value.Headers[name]
					if got := header != nil && header.Value.Required; got != want {
						gaps = append(gaps, fmt.Sprintf("%s %s requires %s: %t, want %t", o.OperationID, status, name, got, want))
					}
				}
			}
		}
	}
	slices.Sort(gaps)
	return gaps
}

func TestDeprecatedOperationsAreDescribed(t *testing.T) {
	for _, gap := range lifecycleGaps(load(t)) {
		t.Error(gap)
	}
}

func TestLifecycleGaps(t *testing.T) {
	first := string(readFile(t, releasedName(1)))
	document := parse(t, []byte(edited(t, first, replace(createID, ending))))
	gaps := strings.Join(lifecycleGaps(document), "\n")
	for _, want := range []string{
		"createCategory has a 410: false, a sunset: true",
		"createCategory 201 requires Deprecation: false, want true",
		"createCategory 201 requires Link: false, want true",
		"createCategory 400 requires Sunset: false, want true",
	} {
		if !strings.Contains(gaps, want) {
			t.Errorf("the gaps do not tell %q:\n%s", want, gaps)
		}
	}
	if strings.Contains(gaps, "listCategories") || strings.Contains(gaps, "401") {
		t.Errorf("the gaps tell of answers that are no part of the lifecycle:\n%s", gaps)
	}
}
