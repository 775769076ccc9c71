package apicheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/petcat-api/petcat/api"
)

// document is an OpenAPI document with compiled schemas. kin-openapi compiles them for each
// response, which takes most of the time of a check.
type document struct {
	*openapi3.T

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by location; mu guards it and compiler
}

// documentAddress is the base URL of the schemas. Without a host, it would be a file in the
// current directory, whose path may contain spaces.
const documentAddress = "https://petcat.invalid/openapi.json"

var theDocument = sync.OnceValues(func() (*document, error) { return load(api.JSON("")) })

var theManagementDocument = sync.OnceValues(func() (*document, error) { return load(api.Management()) })

// documentedCodes returns the error codes in the OpenAPI document.
func documentedCodes() []any {
	d, err := theDocument()
	if err != nil {
		return nil
	}
	codes, _ := d.Components.Schemas["Error"].Value.Properties["code"].Value.Extensions["x-extensible-enum"].([]any)
	return codes
}

// Management checks a response of the management API against its document. path is the
// template of the request's path.
func Management(path string, res *http.Response, body []byte) error {
	d, err := theManagementDocument()
	if err != nil {
		return err
	}
	item := d.Paths.Value(path)
	if item == nil || item.GetOperation(res.Request.Method) == nil {
		if res.StatusCode < http.StatusBadRequest {
			return fmt.Errorf("%s %s is not in the OpenAPI document", res.Request.Method, path)
		}
		return nil
	}
	return d.response(item.GetOperation(res.Request.Method), place{"paths", path, strings.ToLower(res.Request.Method)}, res, body)
}

func load(text []byte) (*document, error) {
	parsed, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("load the OpenAPI document: %w", err)
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("load the OpenAPI document: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for _, bits := range []int{32, 64} {
		compiler.RegisterFormat(&jsonschema.Format{Name: fmt.Sprint("int", bits), Validate: func(v any) error {
			n, is := v.(json.Number)
			if !is {
				return nil // validate checks the type
			}
			_, err := strconv.ParseInt(n.String(), 10, bits)
			return err
		}})
	}
	return &document{T: parsed, compiler: compiler, schemas: make(map[string]*jsonschema.Schema)}, compiler.AddResource(documentAddress, tree)
}

// place is a location in the document, as the segments of a JSON pointer.
type place []string

// or returns the target of a reference, or p if the reference is empty.
func (p place) or(reference string) place {
	if steps, is := strings.CutPrefix(reference, "#/"); is {
		return strings.Split(steps, "/")
	}
	return p
}

func (p place) to(names ...string) place { return slices.Concat(p, names) }

// address returns the URL of the place.
func (p place) address() string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var pointer strings.Builder
	for _, name := range p {
		pointer.WriteString("/" + escape.Replace(name))
	}
	return documentAddress + "#" + (&url.URL{Fragment: pointer.String()}).EscapedFragment()
}

// validate checks a value against the schema at a place.
func (d *document) validate(at place, value any) error {
	schema, err := d.schema(at)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (d *document) schema(at place) (schema *jsonschema.Schema, err error) {
	name := strings.Join(at, " ")
	d.mu.Lock()
	defer d.mu.Unlock()
	if schema = d.schemas[name]; schema == nil {
		schema, err = d.compiler.Compile(at.address())
		d.schemas[name] = schema
	}
	return schema, err
}

// response checks a response of the operation at a place.
func (d *document) response(o *openapi3.Operation, at place, res *http.Response, body []byte) error {
	status := strconv.Itoa(res.StatusCode)
	if o.Responses.Value(status) == nil && res.StatusCode >= http.StatusBadRequest {
		status = "default"
	}
	described := o.Responses.Value(status)
	if described == nil {
		return fmt.Errorf("the status %d is not in the OpenAPI document", res.StatusCode)
	}
	at = at.to("responses", status).or(described.Ref)
	for name, h := range described.Value.Headers {
		if err := d.header(h, at.to("headers", name).or(h.Ref), res.Header.Values(name)); err != nil {
			return fmt.Errorf("the header %s: %w", name, err)
		}
	}
	if len(described.Value.Content) == 0 || res.Request.Method == http.MethodHead {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if described.Value.Content[kind] == nil {
		return fmt.Errorf("the Content-Type %q is not in the OpenAPI document", kind)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	if err := d.validate(at.to("content", kind, "schema"), value); err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	return nil
}

// header checks the values of a header against its description at a place.
func (d *document) header(h *openapi3.HeaderRef, at place, values []string) error {
	if len(values) == 0 {
		if h.Value.Required {
			return errors.New("it is missing")
		}
		return nil
	}
	text := strings.Join(values, ", ")
	if _, err := strconv.ParseInt(text, 10, 64); err == nil && h.Value.Schema.Value.Type.Is(openapi3.TypeInteger) {
		return d.validate(at.to("schema"), json.Number(text))
	}
	return d.validate(at.to("schema"), text)
}
