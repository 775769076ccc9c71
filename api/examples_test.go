package api_test

import (
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/petcat-api/petcat"
)

// wantValid checks an example against its schema.
func wantValid(t *testing.T, doc *openapi3.T, where string, schema *openapi3.SchemaRef, value any) {
	t.Helper()
	if err := doc.ValidateSchemaJSON(schema.Value, value); err != nil {
		t.Errorf("%s: %v", where, err)
	}
}

func TestBodyExamples(t *testing.T) {
	doc := load(t)
	check := func(where string, content openapi3.Content) {
		for mediaType, m := range content {
			if len(m.Examples) == 0 {
				t.Errorf("%s: no example of %s", where, mediaType)
			}
			for name, e := range m.Examples {
				wantValid(t, doc, where+" "+name, m.Schema, e.Value.Value)
			}
		}
	}
	for _, item := range doc.Paths.Map() {
		for _, o := range item.Operations() {
			if o.RequestBody != nil {
				check(o.OperationID+" request", o.RequestBody.Value.Content)
			}
			for status, r := range o.Responses.Map() {
				check(o.OperationID+" "+status, r.Value.Content)
			}
		}
	}
}

func TestHeaderAndParameterExamples(t *testing.T) {
	doc := load(t)
	check := func(where string, p *openapi3.Parameter) {
		// Importers send the examples of parameters. With a condition, a filter or a cursor, they
		// would not get the list.
		none := []string{
			"listCategories If-None-Match", "listCategories name", "listCategories owner", "listCategoryChanges after",
		}
		if p.Example == nil && len(p.Examples) == 0 && !slices.Contains(none, where) {
			t.Errorf("%s: no example", where)
		}
		if p.Example != nil {
			wantValid(t, doc, where, p.Schema, p.Example)
		}
		for name, e := range p.Examples {
			wantValid(t, doc, where+" "+name, p.Schema, e.Value.Value)
		}
	}
	for _, item := range doc.Paths.Map() {
		for _, o := range item.Operations() {
			for _, p := range o.Parameters {
				check(o.OperationID+" "+p.Value.Name, p.Value)
			}
		}
	}
	eachResponse(t, func(_ *testing.T, operationID, status string, r *openapi3.Response) {
		for name, h := range r.Headers {
			check(operationID+" "+status+" "+name, &h.Value.Parameter)
		}
	})
}

// TestNamePattern: the document accepts the same names as the domain, for every relevant character,
// alone and with others.
func TestNamePattern(t *testing.T) {
	schema := load(t).Components.Schemas["NewCategory"].Value.Properties["name"].Value
	for c := range rune(0x3100) {
		for _, name := range []string{string(c), " " + string(c) + "\u00a0", "a" + string(c), string(c) + "b"} {
			_, err := petcat.ParseNewCategory(&name, nil)
			if documented := schema.VisitJSON(name) == nil; documented != (err == nil) {
				t.Errorf("%q: the document accepts it: %t, the domain returns %v", name, documented, err)
			}
		}
	}
}
