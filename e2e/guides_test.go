package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/petcat-api/petcat/docs"
)

// example is a command block in a guide, with the output if it is shown.
type example struct{ kind, text string }

func examplesIn(markdown string) (all []example) {
	blocks := regexp.MustCompile("(?ms)^( *)```(sh|console)\n(.*?)^ *```$")
	for _, m := range blocks.FindAllStringSubmatch(markdown, -1) {
		all = append(all, example{m[2], regexp.MustCompile("(?m)^"+m[1]).ReplaceAllString(m[3], "")})
	}
	return all
}

// otherTool matches commands that need tools that the tests do not require.
var otherTool = regexp.MustCompile(`\b(python3|node|jq|go run)\b`)

// shownCommand matches a command and its output. Continuation lines of the command are indented.
var shownCommand = regexp.MustCompile(`(?m)^\$ (.*\n(?: +[^ ].*\n)*)((?:[^$].*\n|\n)*)`)

// TestGuides runs the commands of all guides in order, in one directory and with one key, and compares
// the output with the guides.
func TestGuides(t *testing.T) {
	t.Parallel()
	n := serve(t, directory(t))
	k := n.newKey("reader", "free")
	dir := t.TempDir()
	shell := func(text string) string {
		t.Helper()
		text = strings.ReplaceAll(text, "http://localhost:8080", n.api)
		cmd := exec.Command("sh", "-ec", regexp.MustCompile(`pck_live_\w+`).ReplaceAllString(text, k.Key))
		cmd.Dir = dir
		path := "PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH")
		cmd.Env = []string{path, "HOME=" + dir, "PETCAT_URL=" + n.api, "PETCAT_API_KEY=" + k.Key}
		o := finish(t, cmd)
		if o.code != exitDone {
			t.Errorf("%s\nexited with %d: %s%s", text, o.code, o.stdout, o.stderr)
		}
		return o.stdout
	}
	followed := 0
	for _, guide := range docs.Guides() {
		for _, x := range examplesIn(guide.Text) {
			if x.kind == "sh" && !otherTool.MatchString(x.text) {
				shell(x.text)
				followed++
			}
			for _, m := range shownCommand.FindAllStringSubmatch(x.text, -1) {
				if x.kind == "console" && !otherTool.MatchString(m[1]) {
					wantShown(t, guide.Name, m[2], shell(m[1]))
					followed++
				}
			}
		}
	}
	if followed < 10 {
		t.Errorf("only %d commands were run", followed)
	}
}

// TestReadme: the commands of the quick start in README.md run as pasted while petcat dev runs.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	must(t, err)
	_, start, found := strings.Cut(string(text), "```sh\nmake run\n```")
	start, _, ends := strings.Cut(start, "\n## ")
	if !found || !ends {
		t.Fatal("README.md has no quick start with make run")
	}
	place := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(place, 0o700))
	n, _ := startDev(t, place)
	var setup string
	shown := 0
	for _, x := range examplesIn(start) {
		if x.kind == "sh" {
			setup += x.text
			continue
		}
		for _, m := range shownCommand.FindAllStringSubmatch(x.text, -1) {
			cmd := exec.Command("sh", "-ec", setup+strings.ReplaceAll(m[1], "http://localhost:8080", n.api))
			cmd.Dir = filepath.Dir(place)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}
			o := finish(t, cmd)
			wantShown(t, "README.md", m[2], o.stdout)
			shown++
		}
	}
	if shown != 2 {
		t.Errorf("README.md shows %d commands and their output", shown)
	}
	n.stop()
}

// wantShown compares the output of a command with a guide, where "..." matches anything.
func wantShown(t *testing.T, guide, text, printed string) {
	t.Helper()
	want, got := shapes(text), shapes(printed)
	if !slices.Contains(want, "...") {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-document +server):\n%s", guide, diff)
		}
		return
	}
	for _, line := range want {
		if line != "..." && !slices.Contains(got, line) {
			t.Errorf("%s shows %q, output\n%s", guide, line, printed)
		}
	}
}

// shapes returns the lines of a text without the parts that vary. Lines that are only a number, and
// status lines, stay.
func shapes(text string) (lines []string) {
	opaque := regexp.MustCompile(`^((?i:Date|ETag|X-Request-Id)): .*`)
	exact := regexp.MustCompile(`^(HTTP/\S+ .*|\d+)$`)
	for line := range strings.Lines(strings.TrimSpace(strings.ReplaceAll(text, "\r", ""))) {
		line = strings.TrimSuffix(line, "\n")
		if !exact.MatchString(line) {
			line = regexp.MustCompile(`\d+`).ReplaceAllString(opaque.ReplaceAllString(line, "$1"), "N")
		}
		lines = append(lines, line)
	}
	return lines
}
