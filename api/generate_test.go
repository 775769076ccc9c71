package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
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

var update = flag.Bool("update", false, "write openapi.json and openapi.md from openapi.yaml")

func TestJSONIsTheYAML(t *testing.T) {
	for _, name := range []string{"openapi", "management"} {
		var root yaml.Node
		if err := yaml.Unmarshal(readFile(t, name+".yaml"), &root); err != nil {
			t.Fatal(err)
		}
		compact, err := appendJSON(nil, &root)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Indent(&want, compact, "", "  "); err != nil {
			t.Fatal(err)
		}
		want.WriteByte('\n')
		wantFile(t, name+".json", want.Bytes())
	}
}

// appendJSON appends a YAML node as JSON and keeps the order of the members,
// which is the order that readers of the document see. It refuses what JSON
// cannot say.
func appendJSON(dst []byte, n *yaml.Node) ([]byte, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return appendJSON(dst, n.Content[0])
	case yaml.SequenceNode:
		return appendList(dst, '[', ']', n.Content, 1)
	case yaml.MappingNode:
		return appendList(dst, '{', '}', n.Content, 2)
	case yaml.ScalarNode:
		return appendScalar(dst, n)
	default:
		return nil, fmt.Errorf("line %d: aliases are not supported", n.Line)
	}
}

// appendList appends nodes that belong together in groups of one (elements) or
// two (name and value).
func appendList(dst []byte, open, end byte, nodes []*yaml.Node, group int) ([]byte, error) {
	var err error
	dst = append(dst, open)
	for i, n := range nodes {
		switch {
		case i == 0:
		case i%group == 0:
			dst = append(dst, ',')
		default:
			dst = append(dst, ':')
		}
		if group == 2 && i%2 == 0 && n.Tag != "!!str" {
			return nil, fmt.Errorf("line %d: the member name %s is not a string; quote it", n.Line, n.Value)
		}
		if dst, err = appendJSON(dst, n); err != nil {
			return nil, err
		}
	}
	return append(dst, end), nil
}

func appendScalar(dst []byte, n *yaml.Node) ([]byte, error) {
	switch n.Tag {
	case "!!str":
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(n.Value); err != nil {
			return nil, err
		}
		return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
	case "!!int", "!!bool", "!!float", "!!null":
		if !json.Valid([]byte(n.Value)) {
			return nil, fmt.Errorf("line %d: %s is not a JSON value", n.Line, n.Value)
		}
		return append(dst, n.Value...), nil
	default:
		return nil, fmt.Errorf("line %d: %s has the type %s, which JSON lacks; quote it", n.Line, n.Value, n.Tag)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

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
