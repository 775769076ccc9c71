package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/api"
)

// load returns the document, validated.
func load(t *testing.T) *openapi3.T {
	t.Helper()
	return parse(t, api.YAML(""))
}

func parse(t *testing.T, document []byte) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatalf("validate: %v", err)
	}
	return doc
}

func TestDocumentHasVersion(t *testing.T) {
	doc := load(t)
	if doc.Info.Version != version {
		t.Errorf("info.version is %s, want %s", doc.Info.Version, version)
	}
}

func TestOperationsAreTheRegistrys(t *testing.T) {
	type operation struct{ ID, Method, Path, Stability, Level string }
	// Tools that compare documents know this word for experimental.
	levels := map[petcat.Stability]string{petcat.Stable: "stable", petcat.Beta: "beta", petcat.Experimental: "alpha"}

	var want []operation
	for _, o := range petcat.Operations() {
		want = append(want, operation{string(o.ID), o.Method, o.Path, string(o.Stability), levels[o.Stability]})
	}
	var got []operation
	for path, item := range load(t).Paths.Map() {
		for method, o := range item.Operations() {
			stability, _ := o.Extensions["x-stability"].(string)
			level, _ := o.Extensions["x-stability-level"].(string)
			got = append(got, operation{o.OperationID, method, path, stability, level})
		}
	}
	byID := func(a, b operation) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(want, byID)
	slices.SortFunc(got, byID)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-registry +document):\n%s", diff)
	}
}

func TestDeprecatedOperationsAreTheRegistrys(t *testing.T) {
	doc := load(t)
	for _, o := range petcat.Operations() {
		documented := doc.Paths.Value(o.Path).GetOperation(o.Method)
		if want := !o.DeprecatedAt.IsZero(); documented.Deprecated != want {
			t.Errorf("%s: deprecated is %t in the document, %t in the registry", o.ID, documented.Deprecated, want)
		}
		sunset, _ := documented.Extensions["x-sunset"].(string)
		want := ""
		if !o.SunsetAt.IsZero() {
			want = o.SunsetAt.Format("2006-01-02")
		}
		if sunset != want {
			t.Errorf("%s: x-sunset is %q in the document, %q in the registry", o.ID, sunset, want)
		}
	}
}

func TestCodesAreTheDomains(t *testing.T) {
	code := load(t).Components.Schemas["Error"].Value.Properties["code"].Value
	if len(code.Enum) > 0 {
		t.Error("code has an enum; callers must expect new codes, so the list is x-extensible-enum")
	}
	var got []petcat.Code
	list, _ := code.Extensions["x-extensible-enum"].([]any)
	for _, c := range list {
		got = append(got, petcat.Code(c.(string)))
	}
	if diff := cmp.Diff(petcat.Codes(), got); diff != "" {
		t.Errorf("codes (-domain +document):\n%s", diff)
	}
}

func TestEveryCodeIsExplained(t *testing.T) {
	text := load(t).Info.Description
	for _, c := range petcat.Codes() {
		if !strings.Contains(text, "`"+string(c)+"`") {
			t.Errorf("the section Errors of the description does not name %s", c)
		}
	}
}

func TestEveryPlanIsShown(t *testing.T) {
	text := load(t).Info.Description
	rows := map[petcat.Plan]string{
		petcat.Free:       "| Free | 60 | 1,000 |",
		petcat.Pro:        "| Pro | 300 | 10,000 |",
		petcat.Business:   "| Business | 1,000 | 100,000 |",
		petcat.Enterprise: "| Enterprise | agreed per account | agreed per account |",
	}
	for _, p := range petcat.Plans() {
		if row := rows[p]; row == "" || !strings.Contains(text, row) {
			t.Errorf("the table of plans has no row %q for %s", row, p)
		}
		// The row is what the domain says, too.
		if q, ok := p.Quota(); ok && rows[p] != planRow(p, q) {
			t.Errorf("%s: the domain's row is %q, the document's %q", p, planRow(p, q), rows[p])
		}
	}
}
