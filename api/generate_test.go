package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

var update = flag.Bool("update", false, "write what is made from openapi.yaml")

func TestJSONIsFromTheYAML(t *testing.T) {
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

// appendJSON appends a YAML node as JSON, with the members in the same order. It returns an error for
// values that JSON does not support.
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

// appendList appends nodes in groups of one (elements) or two (name and value).
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
		return nil, fmt.Errorf("line %d: %s has the type %s, which JSON does not have; quote it", n.Line, n.Value, n.Tag)
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

// part is a part of openapi.yaml. A missing part is empty.
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

// Get returns the member at the end of the path.
func (p part) Get(path ...string) part {
	for _, name := range path {
		i := slices.IndexFunc(p.Items(), func(m part) bool { return m.Name == name })
		if i < 0 {
			return part{}
		}
		p = p.Items()[i]
	}
	return p
}

// wantFile compares a generated file with its expected content, or writes it.
func wantFile(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(want), string(readFile(t, name))); diff != "" {
		t.Errorf("%s is out of date; run: go generate ./api\n%s", name, diff)
	}
}
