// Package docs holds the guides for integrators: those documents of this folder
// that every server shows. They are Markdown, and this package does not render it.
// It depends on nothing that could be unavailable.
package docs

import (
	"embed"
	"strings"
)

//go:embed getting-started.md retries.md limits.md keys.md paging.md import.md errors.md versioning.md
var files embed.FS

// Guide is a document for integrators.
type Guide struct {
	Name  string // of the file, without .md
	Title string
	Text  string // Markdown
}

// Guides returns all guides, in the order in which they are best read.
func Guides() []Guide {
	var guides []Guide
	for _, name := range []string{"getting-started", "retries", "limits", "keys", "paging", "import", "errors", "versioning"} {
		data, err := files.ReadFile(name + ".md")
		if err != nil { // the files are part of the binary
			panic(err)
		}
		text := string(data)
		title, _, _ := strings.Cut(text, "\n")
		guides = append(guides, Guide{Name: name, Title: strings.TrimPrefix(title, "# "), Text: text})
	}
	return guides
}
