package api_test

import (
	"bytes"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// part is a part of openapi.yaml as the template of openapi.md sees it. What is not
// there is a part without anything in it.
type part struct {
	Name string // of a member
	yaml.Node
}

// Items returns the members of a mapping or the elements of a sequence, in order.
func (p part) Items() (items []part) {
	if p.Kind == yaml.MappingNode {
		for i := 0; i < len(p.Content); i += 2 {
			items = append(items, part{Name: p.Content[i].Value, Node: *p.Content[i+1]})
		}
		return items
	}
	for _, n := range p.Content { // a scalar has none
		items = append(items, part{Node: *n})
	}
	return items
}

// Get returns a member.
func (p part) Get(name string) part {
	for _, m := range p.Items() {
		if m.Name == name {
			return m
		}
	}
	return part{}
}

// Text returns a member's text on one line.
func (p part) Text(name string) string {
	return strings.Join(strings.Fields(p.Get(name).Value), " ")
}

// JSON returns the part as JSON.
func (p part) JSON() (string, error) {
	text, err := appendJSON(nil, &p.Node)
	return string(text), err
}

// Schema returns a schema as JSON, without what it says in words.
func (p part) Schema() (string, error) {
	shown := part{Node: yaml.Node{Kind: p.Kind}}
	for i := 0; i < len(p.Content); i += 2 {
		if !slices.Contains([]string{"description", "example", "examples"}, p.Content[i].Value) {
			shown.Content = append(shown.Content, p.Content[i:i+2]...)
		}
	}
	return shown.JSON()
}

// headerCounts returns how many responses there are, and how many have which header.
func headerCounts(document part) (responses int, counts map[string]int) {
	all := document.Get("components").Get("responses").Items()
	for _, paths := range document.Get("paths").Items() {
		for _, operation := range paths.Items() {
			all = append(all, operation.Get("responses").Items()...)
		}
	}
	counts = map[string]int{}
	for _, r := range all {
		if r.Get("$ref").Kind == 0 { // what it refers to is among them, too
			responses++
			for _, h := range r.Get("headers").Items() {
				counts[h.Name]++
			}
		}
	}
	return responses, counts
}

// TestMarkdownIsTheYAML: openapi.md has the whole document as text, for people and
// for tools that read text.
func TestMarkdownIsTheYAML(t *testing.T) {
	var root yaml.Node
	if err := yaml.Unmarshal(readFile(t, "openapi.yaml"), &root); err != nil {
		t.Fatal(err)
	}
	document := part{Node: *root.Content[0]}
	responses, counts := headerCounts(document)
	form := template.New("openapi.md.tmpl").Funcs(template.FuncMap{
		"base":     path.Base,
		"upper":    strings.ToUpper,
		"isHeader": func(name string) bool { return counts[name] > 0 },
		"isCommon": func(name string) bool { return counts[name] == responses },
		"common": func() []string {
			names := slices.Sorted(maps.Keys(counts))
			return slices.DeleteFunc(names, func(name string) bool { return counts[name] < responses })
		},
	})
	var want bytes.Buffer
	if err := template.Must(form.ParseFiles("testdata/openapi.md.tmpl")).Execute(&want, document); err != nil {
		t.Fatal(err)
	}
	wantFile(t, "openapi.md", want.Bytes())
}

// wantFile compares a file that is made from openapi.yaml with what it must be, or
// writes it.
func wantFile(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(want), string(readFile(t, name))); diff != "" {
		t.Errorf("%s is not openapi.yaml; run: go generate ./api\n%s", name, diff)
	}
}
