package api_test

import (
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
)

// eachResponse calls fn for every response of every operation.
func eachResponse(t *testing.T, fn func(t *testing.T, operationID, status string, r *openapi3.Response)) {
	t.Helper()
	for _, item := range load(t).Paths.Map() {
		for _, o := range item.Operations() {
			for status, r := range o.Responses.Map() {
				t.Run(o.OperationID+" "+status, func(t *testing.T) { fn(t, o.OperationID, status, r.Value) })
			}
		}
	}
}

func TestResponseHeaders(t *testing.T) {
	all := []string{
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
		"RateLimit", "RateLimit-Policy", "X-Request-Id", "Cache-Control",
	}
	more := map[string][]string{
		"304": {"ETag", "Vary"},
		"401": {"WWW-Authenticate"},
		"429": {"Retry-After"},
		"503": {"Retry-After"},
	}
	of := map[string][]string{
		"listCategories 200": {"ETag", "Vary"}, "getCategory 200": {"ETag", "Vary"}, "updateCategory 200": {"ETag"},
		"createCategory 201": {"Location", "ETag"},
		"createCategory 409": {"Retry-After"}, "createPet 409": {"Retry-After"}, "createOrder 409": {"Retry-After"},
	}
	// These headers are not on every response with the status.
	optional := map[string]bool{
		"X-Stability":          true,
		"Idempotent-Replayed":  true,
		"Retry-After":          true,
		"Age":                  true,
		"Accept-Encoding":      true,
		"Content-Encoding":     true,
		"Accept-Patch":         true,
		"X-Error-Field":        true,
		"X-Ignored-Parameters": true,
	}

	eachResponse(t, func(t *testing.T, operationID, status string, r *openapi3.Response) {
		want := slices.Concat(all, more[status], of[operationID+" "+status])
		slices.Sort(want)
		var got []string // the required headers
		for name, h := range r.Headers {
			if name == "Deprecation" || name == "Sunset" || name == "Link" {
				continue
			}
			switch {
			case h.Value.Required:
				got = append(got, name)
			case !optional[name]:
				t.Errorf("%s is not required", name)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		// The key and the limits are checked before routing.
		known := status != "401" && status != "429"
		if documented := r.Headers["X-Stability"] != nil; documented != known {
			t.Errorf("X-Stability documented: %t, want %t", documented, known)
		}
	})
}

func TestErrorSchemas(t *testing.T) {
	eachResponse(t, func(t *testing.T, _, status string, r *openapi3.Response) {
		switch {
		case status == "304" || status == "204":
			if len(r.Content) > 0 {
				t.Errorf("%s has no body", status)
			}
		case r.Content["application/json"] == nil || len(r.Content) != 1:
			t.Error("the body is not application/json alone")
		case status >= "400":
			if ref := r.Content["application/json"].Schema.Ref; ref != "#/components/schemas/Error" {
				t.Errorf("schema of the body: %q", ref)
			}
		}
	})
}
