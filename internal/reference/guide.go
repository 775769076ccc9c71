package reference

import (
	"bytes"
	"encoding/json"
	"html"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"github.com/petcat-api/petcat/api"
	"github.com/petcat-api/petcat/docs"
)

// fileLink matches a link to a document of the repository: its text, path and section.
var fileLink = regexp.MustCompile(`\[([^\]]+)\]\(([a-zA-Z./-]+)\.md(#[a-z0-9-]+)?\)`)

// served returns Markdown in which links to guides lead to their pages. Other documents are not on
// the listener, so only the text of links to them remains.
func (s site) served(text string) string {
	return fileLink.ReplaceAllStringFunc(text, func(link string) string {
		m := fileLink.FindStringSubmatch(link)
		text, document, section := m[1], m[2], m[3]
		name := path.Base(document)
		if slices.ContainsFunc(s.guides, func(g docs.Guide) bool { return g.Name == name }) {
			return "[" + text + "](" + s.home + "/" + name + section + ")"
		}
		if page := clientGuide(document); page != "" && s.home == "/docs" {
			return "[" + text + "](" + page + section + ")"
		}
		return text
	})
}

// guideLinks returns a link to each guide.
func (s site) guideLinks() string {
	var b strings.Builder
	for _, g := range s.guides {
		b.WriteString(`<a href="` + s.home + "/" + g.Name + `">` + html.EscapeString(g.Title) + "</a>\n")
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
func (s site) render(text string) string {
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	)
	var b bytes.Buffer
	if err := markdown.Convert([]byte(s.served(text)), &b); err != nil { // writes to a buffer do not fail
		panic(err)
	}
	// Each table scrolls in its own element, so that a phone does not scroll the page.
	return strings.NewReplacer(
		"<table>", `<div class="page-table" tabindex="0"><table>`,
		"</table>", "</table></div>",
	).Replace(b.String())
}
