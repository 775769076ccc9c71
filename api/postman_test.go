package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// collection is a Postman collection, format 2.1. It has only the required members.
type collection struct {
	Info     map[string]string `json:"info"`
	Auth     any               `json:"auth"`
	Variable []variable        `json:"variable"`
	Event    []event           `json:"event"`
	Item     []folder          `json:"item"`
}

// event is a script that runs after a response.
type event struct {
	Listen string            `json:"listen"`
	Script map[string]string `json:"script"`
}

func after(script string) []event { return []event{{"test", map[string]string{"exec": script}}} }

type folder struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Item        []request `json:"item"`
}

type request struct {
	Name    string  `json:"name"`
	Event   []event `json:"event,omitempty"`
	Request struct {
		Description string     `json:"description"`
		Method      string     `json:"method"`
		Header      []variable `json:"header"`
		Body        any        `json:"body,omitempty"`
		URL         struct {
			Raw      string     `json:"raw"`
			Host     []string   `json:"host"`
			Path     []string   `json:"path"`
			Query    []variable `json:"query,omitempty"`
			Variable []variable `json:"variable,omitempty"`
		} `json:"url"`
	} `json:"request"`
}

// variable is a named value: a variable, header or parameter.
type variable struct {
	Key         string `json:"key"`
	Value       string `json:"value"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Disabled    bool   `json:"disabled,omitempty"`
}

// TestPostmanIsFromTheYAML: the collection has a request for each operation. Only required parameters
// are enabled. A create sets the variable for the id in the path of its resource, and the deletes are
// last, so all requests succeed in their order.
func TestPostmanIsFromTheYAML(t *testing.T) {
	var root yaml.Node
	if err := yaml.Unmarshal(readFile(t, "openapi.yaml"), &root); err != nil {
		t.Fatal(err)
	}
	document := part{Node: *root.Content[0]}
	made := collection{
		Info: map[string]string{
			"name": document.Get("info", "title").Value,
			"description": "Put your API key into the variable api_key of this collection. " +
				"base_url is the address of the service, with /v1. Run the collection to see each operation; " +
				"it deletes what it creates, except a store order, and revokes the key at the end.",
			"schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
		},
		Auth: map[string]any{
			"type":   "bearer",
			"bearer": []variable{{Key: "token", Value: "{{api_key}}", Type: "string"}},
		},
		Variable: []variable{
			{Key: "base_url", Value: document.Get("servers").Items()[0].Get("url").Value},
			{Key: "api_key"},
		},
		// A deprecated operation may be past its sunset.
		Event: after("pm.test('succeeds', () => pm.expect(pm.response.code < 400 || pm.response.code === 410).to.be.true);"),
	}
	deletes := folder{
		Name:        "Deletes",
		Description: "Delete what the other requests created. The last one revokes the API key.",
	}
	var revocation request
	for _, path := range document.Get("paths").Items() {
		for _, p := range path.Get("parameters").Items() {
			made.Variable = append(made.Variable, variable{Key: p.Get("name").Value, Value: p.Get("example").Value})
		}
	}
	for _, tag := range document.Get("tags").Items() {
		f := folder{Name: tag.Get("name").Value, Description: tag.Get("description").Value}
		for _, path := range document.Get("paths").Items() {
			for _, operation := range path.Items() {
				if tags := operation.Get("tags").Items(); len(tags) > 0 && tags[0].Value == f.Name {
					r := postmanRequest(t, path, operation)
					if path.Name == "/key/revoke" {
						revocation = r
						continue
					}
					if r.Request.Method == http.MethodDelete {
						deletes.Item = slices.Insert(deletes.Item, 0, r) // pets before their category
						continue
					}
					if id := idOf(document, path.Name); r.Request.Method == http.MethodPost && id != "" {
						r.Event = after("pm.collectionVariables.set('" + id + "', pm.response.json().id);")
					}
					f.Item = append(f.Item, r)
				}
			}
		}
		made.Item = append(made.Item, f)
	}
	deletes.Item = append(deletes.Item, revocation)
	made.Item = append(made.Item, deletes)
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(made); err != nil {
		t.Fatal(err)
	}
	wantFile(t, "postman.json", want.Bytes())
}

// idOf returns the parameter for the id of a list's elements; "" if no path has it.
func idOf(document part, list string) string {
	for _, path := range document.Get("paths").Items() {
		if id, ok := strings.CutPrefix(path.Name, list+"/{"); ok && strings.HasSuffix(id, "}") {
			return strings.TrimSuffix(id, "}")
		}
	}
	return ""
}

// idMember is a member of an example that names another resource.
var idMember = regexp.MustCompile(`"(category|pet)_id": \d+`)

func postmanRequest(t *testing.T, path, operation part) request {
	t.Helper()
	r := request{Name: operation.Get("summary").Value}
	r.Request.Method = strings.ToUpper(operation.Name)
	r.Request.Description = operation.Get("description").Value
	r.Request.Header = []variable{}
	url := &r.Request.URL
	// Postman writes {id} as :id.
	route := strings.NewReplacer("{", ":", "}", "").Replace(path.Name)
	url.Raw, url.Host, url.Path = "{{base_url}}"+route, []string{"{{base_url}}"}, strings.Split(route, "/")[1:]
	for _, p := range slices.Concat(path.Get("parameters").Items(), operation.Get("parameters").Items()) {
		v := variable{Key: p.Get("name").Value, Value: p.Get("example").Value, Description: p.Get("description").Value}
		v.Disabled = p.Get("required").Value != "true"
		switch p.Get("in").Value {
		case "path":
			v.Value = "{{" + v.Key + "}}"
			url.Variable = append(url.Variable, v)
		case "query":
			url.Query = append(url.Query, v)
		case "header":
			if v.Key == "Idempotency-Key" {
				v.Value = "{{$guid}}" // a new one for each request
			}
			r.Request.Header = append(r.Request.Header, v)
		}
	}
	if media := operation.Get("requestBody", "content").Items(); len(media) > 0 {
		example := media[0].Get("examples").Items()[0].Get("value")
		text, err := appendJSON(nil, &example.Node)
		if err != nil {
			t.Fatal(err)
		}
		var raw bytes.Buffer
		if err := json.Indent(&raw, text, "", "  "); err != nil {
			t.Fatal(err)
		}
		r.Request.Header = append(r.Request.Header, variable{Key: "Content-Type", Value: media[0].Name})
		language := map[string]any{"raw": map[string]string{"language": "json"}}
		body := idMember.ReplaceAllString(raw.String(), `"${1}_id": {{${1}Id}}`)
		r.Request.Body = map[string]any{"mode": "raw", "raw": body, "options": language}
	}
	return r
}
