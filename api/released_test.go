package api_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

var release = flag.Bool("release", false, "keep openapi.yaml in released/, as the newest revision")

// version is that of the API, not of the program. It stays: what is added is
// counted in x-revision.
const version = "1.0.0"

// releasedSums has the hashes of the kept documents, in the form of sha256sum. A
// document that was released never changes, not even by a replacement in all files.
const releasedSums = "released/SHA256SUMS"

// releasedName returns where the document of a revision is kept.
func releasedName(revision int) string { return fmt.Sprintf("released/%s-r%d.yaml", version, revision) }

// revision returns a document's number among those of its version, from 1.
func revision(t *testing.T, document []byte) int {
	t.Helper()
	var d struct {
		Info struct {
			Version  string
			Revision int `yaml:"x-revision"`
		}
	}
	if err := yaml.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	if d.Info.Version != version || d.Info.Revision < 1 {
		t.Fatalf("info.version is %q and info.x-revision %d, want %q and a number from 1", d.Info.Version, d.Info.Revision, version)
	}
	return d.Info.Revision
}

// releasedDocuments returns the kept documents, oldest first. There is at least one.
func releasedDocuments(t *testing.T) [][]byte {
	t.Helper()
	var documents [][]byte
	for {
		text, err := os.ReadFile(releasedName(len(documents) + 1))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, text)
	}
	kept, err := filepath.Glob("released/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) == 0 || len(kept) != len(documents) {
		t.Fatalf("released/ holds %q: it must hold %s and those that follow, without gaps", kept, releasedName(1))
	}
	return documents
}

// TestReleasedDocumentsStay: the documents of released revisions are kept as they were.
func TestReleasedDocumentsStay(t *testing.T) {
	var sums strings.Builder
	for i, document := range releasedDocuments(t) {
		name := releasedName(i + 1)
		if r := revision(t, document); r != i+1 {
			t.Errorf("%s has the revision %d", name, r)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(document), filepath.Base(name))
	}
	if recorded := string(readFile(t, releasedSums)); recorded != sums.String() {
		t.Errorf("%s holds\n%s, but of the documents they are\n%s: a released document does not change", releasedSums, recorded, sums.String())
	}
}

// TestDocumentFollowsReleased compares the document with the newest one that was
// released. With -release it then keeps it as released, too.
func TestDocumentFollowsReleased(t *testing.T) {
	needOasdiff(t)
	kept := releasedDocuments(t)
	newest, document := kept[len(kept)-1], readFile(t, "openapi.yaml")
	t.Logf("openapi.yaml is compared with %s", releasedName(len(kept)))
	for _, refusal := range refusals(t, newest, document) {
		t.Error(refusal)
	}
	if !*release || t.Failed() || bytes.Equal(newest, document) {
		return
	}
	name := releasedName(revision(t, document))
	line := fmt.Sprintf("%x  %s\n", sha256.Sum256(document), filepath.Base(name))
	for file, text := range map[string][]byte{name: document, releasedSums: append(readFile(t, releasedSums), line...)} {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
