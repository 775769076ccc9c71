package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// content is a line of .goreleaser.yaml: files, and where they go.
type content struct {
	Src  string `yaml:"src"`
	Dst  string `yaml:"dst"`
	Type string `yaml:"type"`
}

// UnmarshalYAML implements [yaml.Unmarshaler]: a plain text is the source.
func (c *content) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		c.Src = n.Value
		return nil
	}
	type plain content
	return n.Decode((*plain)(c))
}

// holds reports whether the content puts a file of the repository, or a directory with files, at a
// place, if it is not "".
func (c content) holds(name, place string) bool {
	source := strings.TrimPrefix(c.Src, "build/release/") // scripts/release-files copies deploy
	if tree, ok := strings.CutSuffix(source, "/**"); ok || c.Type == "tree" {
		tree = strings.TrimSuffix(tree, "/")
		return (name == tree || strings.HasPrefix(name, tree+"/")) &&
			(place == "" || place == path.Join(c.Dst, strings.TrimPrefix(name, tree)))
	}
	if ok, _ := path.Match(source, name); !ok {
		return false
	}
	return place == "" || place == path.Clean(c.Dst) || place == path.Join(c.Dst, path.Base(name))
}

// TestPackagesHoldWhatDocumentsName: an operator who reads a document of a package finds the files that
// it names, in the archive and in the package.
func TestPackagesHoldWhatDocumentsName(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Archives []struct {
			ID    string    `yaml:"id"`
			Files []content `yaml:"files"`
		} `yaml:"archives"`
		Packages []struct {
			Contents []content `yaml:"contents"`
		} `yaml:"nfpms"`
	}
	if err := yaml.Unmarshal(text, &release); err != nil {
		t.Fatal(err)
	}
	// A script of deploy/compose makes it.
	made := map[string]bool{"deploy/compose/secrets": true}
	for _, document := range shipped(t) {
		in := strings.TrimPrefix(document, "../../")
		for _, name := range append(named(t, document), in) {
			if made[name] {
				continue
			}
			if _, err := os.Stat("../../" + name); err != nil {
				t.Errorf("%s names %s, which does not exist", in, name)
			}
			if !held(release.Archives[0].Files, name, "") {
				t.Errorf("%s names %s, which is not in the archives", in, name)
			}
			if !held(release.Packages[0].Contents, name, "/usr/share/doc/petcat/"+name) {
				t.Errorf("%s names %s, which is not in the packages", in, name)
			}
		}
	}
}

// TestLinksLeadToSections: a link to a section leads to a heading of that document.
func TestLinksLeadToSections(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^):#]*)#([^)]+)\)`)
	for _, document := range shipped(t) {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target := document
			if m[1] != "" {
				target = path.Join(path.Dir(document), m[1])
			}
			if !slices.Contains(sections(t, target), m[2]) {
				t.Errorf("%s links to %s#%s, which does not exist", document, m[1], m[2])
			}
		}
	}
}

// shipped returns the documents of archives and packages.
func shipped(t *testing.T) (documents []string) {
	t.Helper()
	patterns := []string{
		"*.md", "docs/*.md", "docs/decisions/*.md", "client*/README.md", "clients/*/README.md", "bench/README.md",
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob("../../" + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: got %v, %v", pattern, found, err)
		}
		documents = append(documents, found...)
	}
	return slices.DeleteFunc(documents, func(name string) bool { return name == "../../AGENTS.md" })
}

// sections returns the anchors of a document's headings, as GitHub makes them.
func sections(t *testing.T, document string) (anchors []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		words := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors = append(anchors, strings.ReplaceAll(words, " ", "-"))
	}
	return anchors
}

func held(contents []content, name, place string) bool {
	for _, c := range contents {
		if c.holds(name, place) {
			return true
		}
	}
	return false
}

var (
	deployPath = regexp.MustCompile(`(?:^|[^\w/.-])(deploy/[\w@./-]*\w)`)
	markdownTo = regexp.MustCompile(`\]\(([^):#]+)(?:#[^)]*)?\)`)
)

// named returns the files of the repository that a document names or links to.
func named(t *testing.T, document string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range deployPath.FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	folder := path.Dir(strings.TrimPrefix(document, "../../"))
	for _, m := range markdownTo.FindAllStringSubmatch(string(text), -1) {
		names = append(names, path.Join(folder, m[1]))
	}
	return names
}
