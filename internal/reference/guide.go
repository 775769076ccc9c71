package reference

import (
	"bytes"
	"encoding/json"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"petcat/api"
	"petcat/docs"
)

// guideLink matches the start of a link to another guide, which is a file in the repository and a
// page on a server.
var guideLink = regexp.MustCompile(`\]\(([a-z-]+)\.md`)

// guideLinks returns a link to each guide.
func guideLinks(guides []docs.Guide) string {
	var b strings.Builder
	for _, g := range guides {
		b.WriteString(`<a href="/docs/` + g.Name + `">` + html.EscapeString(g.Title) + "</a>\n")
	}
	return b.String()
}

// rules returns the introduction of the OpenAPI document without its first paragraph, and a table of
// the response headers. The page shows them below the operations.
func rules() string {
	var document struct {
		Info       struct{ Description string }
		Components struct {
			Headers map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(api.JSON(""), &document); err != nil { // the document is part of the binary
		panic(err)
	}
	_, text, _ := strings.Cut(document.Info.Description, "\n\n")
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(text, "{base_url}", localURL+"/v1"))
	b.WriteString("\n## Response headers\n\n| Header | Meaning |\n|---|---|\n")
	headers := document.Components.Headers
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if name != "NoStore" && name != "DeprecationLink" { // variants of Cache-Control and Link
			b.WriteString("| `" + name + "` | " + strings.Join(strings.Fields(headers[name].Description), " ") + " |\n")
		}
	}
	return b.String()
}

// render returns Markdown as HTML.
func render(text string) string {
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	)
	var b bytes.Buffer
	text = guideLink.ReplaceAllString(text, "](/docs/$1")
	if err := markdown.Convert([]byte(text), &b); err != nil { // writes to a buffer do not fail
		panic(err)
	}
	return b.String()
}
