package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// A test generates the man pages of a release, because the generator would add too much code to the
// program.
var (
	manFolder  = flag.String("man", "", "keep the man pages in this folder, which exists")
	manVersion = flag.String("man-version", "dev", "the version in the man pages")
)

// TestManPages generates a page for each command from its help, with the date SOURCE_DATE_EPOCH.
func TestManPages(t *testing.T) {
	folder := *manFolder
	if folder == "" {
		folder = t.TempDir()
	}
	root := (&program{}).rootCommand()
	asMarkdown(root)
	header := &doc.GenManHeader{Section: "1", Source: "petcat " + *manVersion, Manual: "Pet Category Service"}
	must(t, doc.GenManTree(root, header, folder))

	eachCommand(root, func(cmd *cobra.Command) {
		text, err := os.ReadFile(filepath.Join(folder, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		must(t, err)
		if !strings.Contains(string(text), cmd.Short) || !strings.Contains(string(text), "petcat "+*manVersion) {
			t.Errorf("the page of %s lacks the short help or the version", cmd.CommandPath())
		}
	})
}

// eachCommand calls f for a command and the commands that its help lists.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			eachCommand(child, f)
		}
	}
}

// asMarkdown converts long texts to Markdown, the input of the generator. Indented lines stay
// unchanged.
func asMarkdown(root *cobra.Command) {
	eachCommand(root, func(cmd *cobra.Command) {
		var lines []string
		verbatim := false
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if indented := strings.HasPrefix(line, "  "); indented != verbatim {
				verbatim = indented
				lines = append(lines, "```")
			}
			lines = append(lines, line)
		}
		if verbatim {
			lines = append(lines, "```")
		}
		cmd.Long = strings.Join(lines, "\n")
	})
}
