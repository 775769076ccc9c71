package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"petcat/internal/tooltest"
)

// The man pages of a release are made by a test: what makes them would weigh more in the
// program than half of its commands.
var (
	manFolder  = flag.String("man", "", "keep the man pages in this folder, which exists")
	manVersion = flag.String("man-version", "dev", "the version in the man pages")
)

// TestManPages makes a page for each command from what it says of itself. Their date is
// SOURCE_DATE_EPOCH.
func TestManPages(t *testing.T) {
	folder := *manFolder
	if folder == "" {
		folder = t.TempDir()
	}
	root := (&program{}).rootCommand()
	asMarkdown(root)
	header := &doc.GenManHeader{Section: "1", Source: "petcat " + *manVersion, Manual: "Pet Category Service"}
	must(t, doc.GenManTree(root, header, folder))

	var want []string
	eachCommand(root, func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		want = append(want, filepath.Join(folder, name))
		text, err := os.ReadFile(filepath.Join(folder, name))
		must(t, err)
		page := strings.ReplaceAll(string(text), `\-`, "-")
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, "--"+f.Name) {
				t.Errorf("%s does not tell of --%s", name, f.Name)
			}
		})
		if !strings.Contains(page, cmd.Short) || !strings.Contains(page, "petcat "+*manVersion) {
			t.Errorf("%s lacks the command's short text or the version", name)
		}
	})
	got, err := filepath.Glob(filepath.Join(folder, "*"))
	must(t, err)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}

	man := tooltest.Find(t, "man", "man-db")
	for _, page := range got {
		out, err := exec.CommandContext(t.Context(), man, "--warnings=w", "-l", "-Tutf8", "-Z", page).CombinedOutput()
		if err != nil || strings.Contains(string(out), "warning") {
			t.Errorf("man %s: %v: %s", page, err, out)
		}
	}
}

// eachCommand calls f for what is listed in a command's help, and for itself.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			eachCommand(child, f)
		}
	}
}

// asMarkdown makes long texts what the pages are made from: lines that a text indents
// are to stay as they are.
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
