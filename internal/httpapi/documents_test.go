package httpapi

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petcat"
	"petcat/internal/representation"
)

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocumentsTellEveryCode: a code stands in a heading of its own below that of its
// status, or in the second column of a table whose first is the status.
func TestDocumentsTellEveryCode(t *testing.T) {
	want := map[string]string{}
	for _, c := range petcat.Codes() {
		want[string(c)] = strconv.Itoa(representation.StatusOf(c))
	}
	statusOfLine := regexp.MustCompile(`^(?:## | *\| )(\d{3})\b`)
	codesOfLine := regexp.MustCompile("^(?:### | *\\| \\d{3} \\| )((?:`[a-z_]+`(?:, )?)+)")
	for _, name := range []string{"docs/errors.md", "docs/retries.md", "api/openapi.yaml"} {
		told, status := map[string]string{}, ""
		for line := range strings.Lines(readDocument(t, name)) {
			if m := statusOfLine.FindStringSubmatch(line); m != nil {
				status = m[1]
			}
			if m := codesOfLine.FindStringSubmatch(line); m != nil {
				for code := range strings.SplitSeq(m[1], ", ") {
					told[strings.Trim(code, "`")] = status
				}
			}
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("%s (-code +document):\n%s", name, diff)
		}
	}
}

// TestRetriesAgree: docs/retries.md knows three kinds of failures, and its clients
// retry exactly what its table says.
func TestRetriesAgree(t *testing.T) {
	text := readDocument(t, "docs/retries.md")
	three := regexp.MustCompile(`\b\d{3}\b`)
	var retried []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\d{3}(?:, \d{3})*) \|[^|]*\| (.*?) \|`).FindAllStringSubmatch(text, -1) {
		switch m[2] {
		case "retry":
			retried = append(retried, three.FindAllString(m[1], -1)...)
		case "correct", "stop":
		default:
			t.Errorf("%s is of the kind %q", m[1], m[2])
		}
	}
	slices.Sort(retried)
	for _, form := range []string{`RETRY = \{(.*)\}`, `statuses = new Set\(\[(.*)\]\)`} {
		m := regexp.MustCompile(form).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("nothing looks like %s", form)
		}
		if diff := cmp.Diff(retried, three.FindAllString(m[1], -1)); diff != "" {
			t.Errorf("%s (-table +client):\n%s", m[0], diff)
		}
	}
}
