package api_test

import (
	"bytes"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/api"
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

// TestErrorCodes: each document has all codes of its API.
func TestErrorCodes(t *testing.T) {
	source, err := os.ReadFile("../error.go")
	if err != nil {
		t.Fatal(err)
	}
	shared, management, found := bytes.Cut(source, []byte("// The codes of the management API"))
	if !found {
		t.Fatal("error.go declares no codes of the management API")
	}
	pattern := regexp.MustCompile(`\tCode\w+ +Code += "([a-z_]+)"`)
	var declared []string
	for _, m := range pattern.FindAllSubmatch(shared, -1) {
		declared = append(declared, string(m[1]))
	}
	text, err := os.ReadFile("management.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range pattern.FindAllSubmatch(management, -1) {
		if !bytes.Contains(text, []byte("`"+string(m[1])+"`")) {
			t.Errorf("management.yaml does not describe %s", m[1])
		}
	}
	code := load(t).Components.Schemas["Error"].Value.Properties["code"].Value
	if len(code.Enum) > 0 {
		t.Error("code has an enum; callers must expect new codes, so the list is x-extensible-enum")
	}
	var got []string
	list, _ := code.Extensions["x-extensible-enum"].([]any)
	for _, c := range list {
		got = append(got, c.(string))
	}
	if diff := cmp.Diff(declared, got); diff != "" {
		t.Errorf("codes (-domain +document):\n%s", diff)
	}
}

func TestPlanTable(t *testing.T) {
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
	}
}

// TestManagementIdempotency: the document of the management API describes the Idempotency-Key and the
// header of a replay for every POST that changes something, and the 400 of other changes.
func TestManagementIdempotency(t *testing.T) {
	for path, item := range parse(t, api.Management()).Paths.Map() {
		for method, o := range item.Operations() {
			takes := method == http.MethodPost && o.OperationID != "findKeys" // which is a search
			rejects := method != http.MethodGet && method != http.MethodPost
			if documented := o.Parameters.GetByInAndName("header", "Idempotency-Key") != nil; documented != takes {
				t.Errorf("%s %s documents the Idempotency-Key: %t", method, path, documented)
			}
			for status, r := range o.Responses.Map() {
				documented := r.Value.Headers["Idempotent-Replayed"] != nil
				if strings.HasPrefix(status, "2") && documented != takes {
					t.Errorf("%s %s %s documents Idempotent-Replayed: %t", method, path, status, documented)
				}
			}
			if documented := o.Responses.Value("400") != nil; documented != rejects {
				t.Errorf("%s %s documents the 400: %t", method, path, documented)
			}
		}
	}
}
