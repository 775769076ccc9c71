package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLoadService(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("pck_live_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, flag string
		environ    []string
		url, key   string
	}{
		{"default", "", []string{"PETCAT_API_KEY=k"}, DefaultServiceURL, "k"},
		{"environment", "", []string{"PETCAT_URL=https://a.example", "PETCAT_API_KEY=k"}, "https://a.example", "k"},
		{"flag", "https://b.example", []string{"PETCAT_URL=https://a.example", "PETCAT_API_KEY=k"}, "https://b.example", "k"},
		{"version", "https://b.example/petcat/v1/", []string{"PETCAT_API_KEY=k"}, "https://b.example/petcat", "k"},
		{"file", "", []string{"PETCAT_URL=", "PETCAT_API_KEY=", "PETCAT_API_KEY_FILE=" + file}, DefaultServiceURL, "pck_live_file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := LoadService(c.flag, c.environ)
			if err != nil || s.URL != c.url || s.Key.Reveal() != c.key {
				t.Errorf("%q, %q, %v; want %q, %q", s.URL, s.Key.Reveal(), err, c.url, c.key)
			}
		})
	}
	for name, environ := range map[string][]string{
		"PETCAT_API_KEY":      nil,
		"unset one":           {"PETCAT_API_KEY=k", "PETCAT_API_KEY_FILE=" + file},
		"PETCAT_API_KEY_FILE": {"PETCAT_API_KEY_FILE=" + file + ".absent"},
	} {
		_, err := LoadService("", environ)
		wantRefused(t, err, name)
	}
}
