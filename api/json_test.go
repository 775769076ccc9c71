package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"

	"gopkg.in/yaml.v3"
)

var update = flag.Bool("update", false, "write openapi.json and openapi.md from openapi.yaml")

func TestJSONIsTheYAML(t *testing.T) {
	source := readFile(t, "openapi.yaml")
	var root yaml.Node
	if err := yaml.Unmarshal(source, &root); err != nil {
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
	wantFile(t, "openapi.json", want.Bytes())
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
