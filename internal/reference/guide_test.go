package reference

import (
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petcat"
	"petcat/docs"
)

// guidePage returns a guide as it is served, and the names of its headings.
func guidePage(t *testing.T, path string) (text string, headings []string) {
	t.Helper()
	res := get(t, "GET", path, nil)
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/html; charset=utf-8" {
		t.Fatalf("%s: %s, %s", path, res.Status, kind)
	}
	text = body(t, res.Body)
	for _, m := range regexp.MustCompile(`<h\d id="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		headings = append(headings, m[1])
	}
	return text, headings
}

// TestGuidesLinkToWhatIsThere follows every link of every guide, and sees that each
// error code can be linked to.
func TestGuidesLinkToWhatIsThere(t *testing.T) {
	headings := map[string][]string{"/docs": nil}
	texts := map[string]string{}
	for _, g := range docs.Guides() {
		at := "/docs/" + g.Name
		texts[at], headings[at] = guidePage(t, at)
	}
	for _, code := range petcat.Codes() {
		if !slices.Contains(headings["/docs/errors"], string(code)) {
			t.Errorf("/docs/errors#%s leads nowhere", code)
		}
	}
	for at, text := range texts {
		links := 0
		for _, m := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(text, -1) {
			path, heading, _ := strings.Cut(m[1], "#")
			if path == "" {
				path = at
			}
			if regexp.MustCompile(`\.(css|png)$`).MatchString(path) {
				continue
			}
			links++
			known, ok := headings[path]
			if !ok || heading != "" && !slices.Contains(known, heading) {
				t.Errorf("%s links to %s, which is not there", at, m[1])
			}
		}
		if links <= len(texts) { // those to all guides, and to the reference
			t.Errorf("%s has %d links", at, links)
		}
	}
}

func TestGuidesAreWhole(t *testing.T) {
	for _, g := range docs.Guides() {
		t.Run(g.Name, func(t *testing.T) {
			text, headings := guidePage(t, "/docs/"+g.Name)
			wantNothingInline(t, text)
			if g.Title == "" || !strings.Contains(text, ">"+html.EscapeString(g.Title)+"</h1>") {
				t.Errorf("the title %q is not shown", g.Title)
			}
			for _, leftover := range []string{"{{", "```", "|---", "<!-- raw HTML omitted"} {
				if strings.Contains(text, leftover) {
					t.Errorf("%q is left of the Markdown", leftover)
				}
			}
			if slices.Sort(headings); len(slices.Compact(slices.Clone(headings))) != len(headings) {
				t.Errorf("two headings are named alike: %q", headings)
			}
		})
	}
}
