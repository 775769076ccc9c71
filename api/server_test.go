package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/petcat-api/petcat/api"
)

func TestServerURL(t *testing.T) {
	for _, c := range []struct{ name, publicURL, want string }{
		{"default", "", "http://localhost:8080/v1"},
		{"other host", "https://pets.example", "https://pets.example/v1"},
		{"IPv6", "http://[::1]:8080", "http://[::1]:8080/v1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			type document struct {
				Servers []struct{ URL string }
			}
			var fromYAML, fromJSON document
			if err := yaml.Unmarshal(api.YAML(c.publicURL), &fromYAML); err != nil {
				t.Fatalf("YAML: %v", err)
			}
			if err := json.Unmarshal(api.JSON(c.publicURL), &fromJSON); err != nil {
				t.Fatalf("JSON: %v", err)
			}
			for format, d := range map[string]document{"YAML": fromYAML, "JSON": fromJSON} {
				if len(d.Servers) != 1 || d.Servers[0].URL != c.want {
					t.Errorf("%s: servers are %q, want %q", format, d.Servers, c.want)
				}
			}
		})
	}
}

func TestDocumentsWithServerURL(t *testing.T) {
	parse(t, api.YAML("https://pets.example"))
	parse(t, api.JSON("https://pets.example"))
}

func TestEveryDocumentHasServerURL(t *testing.T) {
	const public = "https://pets.example"
	for name, document := range map[string][]byte{"postman.json": api.Postman(public), "llms.txt": api.LLMs(public)} {
		if text := string(document); !strings.Contains(text, public+"/v1") || strings.Contains(text, "localhost") {
			t.Errorf("%s contains another server:\n%.300s", name, text)
		}
	}
}
