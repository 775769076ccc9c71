// Package docs holds the documents of this folder that every server shows: the guides for integrators
// on the API's listener, and those for operators on the admin listener. They are Markdown, and this
// package does not render it. It does not depend on anything that could be unavailable.
package docs

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed getting-started.md retries.md limits.md keys.md paging.md import.md errors.md versioning.md
//go:embed operations.md settings.md metrics.md scaling.md reliability.md events.md
var files embed.FS

//go:embed *.png *.svg
var pictures embed.FS

// Guide is a document.
type Guide struct {
	Name  string // of the file, without .md
	Title string
	Text  string // Markdown
}

// Guides returns all guides for integrators, in the order in which they are best read.
func Guides() []Guide {
	return read("getting-started", "retries", "limits", "keys", "paging", "import", "errors", "versioning")
}

// OperatorGuides returns all guides for operators, in the order in which they are best read.
func OperatorGuides() []Guide {
	return read("operations", "settings", "metrics", "scaling", "reliability", "events")
}

// Pictures returns the pictures in the guides, by name.
func Pictures() fs.FS { return pictures }

func read(names ...string) []Guide {
	var guides []Guide
	for _, name := range names {
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
