package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petcat/docs"
	"petcat/internal/tooltest"
)

// TestGuidesExamplesWork follows all guides, one after the other, in one directory
// and with one key, and compares what comes back with what they show.
func TestGuidesExamplesWork(t *testing.T) { //nolint:tparallel // its parts follow each other
	t.Parallel()
	r := newReader(t, "free")
	for _, g := range docs.Guides() {
		t.Run(g.Name, func(t *testing.T) { //nolint:paralleltest // they follow each other
			for _, x := range examplesIn(g.Text) {
				r.follow(t, x)
			}
		})
	}
}

// TestReadmeExamplesWork: the README shows the first responses of a new account.
func TestReadmeExamplesWork(t *testing.T) {
	t.Parallel()
	r := newReader(t, "free")
	text, err := os.ReadFile("../README.md")
	must(t, err)
	seen := 0
	for _, x := range examplesIn(string(text)) {
		if x.kind == "console" {
			r.follow(t, x)
			seen++
		}
	}
	if seen == 0 {
		t.Error("README.md shows no request")
	}
}

// example is a block of code in a document.
type example struct{ kind, text string }

func examplesIn(markdown string) (all []example) {
	for _, m := range regexp.MustCompile("(?ms)^( *)```(\\w*)\n(.*?)^ *```$").FindAllStringSubmatch(markdown, -1) {
		all = append(all, example{m[2], regexp.MustCompile("(?m)^"+m[1]).ReplaceAllString(m[3], "")})
	}
	return all
}

// reader is somebody who tries examples.
type reader struct {
	*server
	dir, url, key string
	// places turns what a document names into what stands for it here; nil turns nothing.
	places    *strings.Replacer
	variables []string // besides those that every reader has
}

// newReader starts a server for a reader whose account is on a plan.
func newReader(t *testing.T, plan ...string) *reader {
	t.Helper()
	for program, debianPackage := range map[string]string{"curl": "curl", "python3": "python3", "node": "nodejs"} {
		tooltest.Find(t, program, debianPackage)
	}
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	openAccount(t, data, "reader", plan...)
	_, key := issueKey(t, data, "reader")
	return &reader{server: s, dir: t.TempDir(), url: s.api, key: key}
}

// shell returns a command line as the reader's shell runs it.
func (r *reader) shell(command string) *exec.Cmd {
	command = strings.ReplaceAll(command, "http://localhost:8080", r.url)
	if r.places != nil {
		command = r.places.Replace(command)
	}
	cmd := exec.Command("sh", "-ec", regexp.MustCompile(`pck_live_\w+`).ReplaceAllString(command, r.key))
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + filepath.Dir(programFile) + ":" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PETCAT_URL=" + r.url, "PETCAT_API_KEY=" + r.key}
	cmd.Env = append(cmd.Env, r.variables...)
	return cmd
}

// fileName is in the first line of a file that is to be saved.
var fileName = regexp.MustCompile(`^(?:#|//) (\S+\.(?:py|mjs))\n`)

// shownCommand is a command and what it prints. The command's further lines are
// indented, and do not begin with a number: what uniq -c prints does.
var shownCommand = regexp.MustCompile(`(?m)^\$ (.*\n(?: +[^ \d].*\n)*)((?:[^$].*\n|\n)*)`)

// follow does what an example says.
func (r *reader) follow(t *testing.T, x example) {
	t.Helper()
	switch x.kind {
	case "python", "js":
		name := fileName.FindStringSubmatch(x.text)
		if name == nil {
			t.Fatalf("an example does not begin with its file's name: %.80s", x.text)
		}
		must(t, os.WriteFile(filepath.Join(r.dir, name[1]), []byte(x.text), 0o600))
	case "json":
		if !json.Valid([]byte(x.text)) {
			t.Errorf("this is no JSON: %s", x.text)
		}
	case "sh":
		r.run(t, x.text)
	case "console":
		shown := shownCommand.FindAllStringSubmatch(x.text, -1)
		if len(shown) == 0 {
			t.Errorf("no command begins with $: %s", x.text)
		}
		for _, m := range shown {
			wantShown(t, m[2], r.run(t, m[1]))
		}
	case "": // what something looks like
		if strings.Contains(x.text, "curl") {
			t.Errorf("this is to be run, but is not marked as sh or console: %s", x.text)
		}
	default:
		t.Errorf("no test knows what to do with an example of the kind %q: %s", x.kind, x.text)
	}
}

// run runs a command, which has to succeed, and returns what it prints.
func (r *reader) run(t *testing.T, command string) string {
	t.Helper()
	cmd := r.shell(command)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v: %s %s", command, err, out, stderr.String())
	}
	return string(out)
}

// wantShown compares what a command prints with what a document shows, in which "..."
// stands for anything.
func wantShown(t *testing.T, shown, printed string) {
	t.Helper()
	want, got := shapes(shown), shapes(printed)
	if !slices.Contains(want, "...") {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-document +server):\n%s", diff)
		}
		return
	}
	for _, line := range want {
		if line != "..." && !slices.Contains(got, line) {
			t.Errorf("the document shows %q, and the server answers\n%s", line, printed)
		}
	}
}

// shapes returns the lines of a text without what differs each time: dates and opaque
// values, and numbers that have a unit.
func shapes(text string) []string {
	opaque := regexp.MustCompile(`^((?i:Date|ETag|X-Request-Id)): .*`)
	exact := regexp.MustCompile(`^(HTTP/\S+ .*|\d+)$`)
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(strings.ReplaceAll(text, "\r", ""))) {
		line = strings.TrimSuffix(line, "\n")
		if !exact.MatchString(line) {
			line = regexp.MustCompile(`\d+`).ReplaceAllString(opaque.ReplaceAllString(line, "$1"), "N")
		}
		lines = append(lines, line)
	}
	return lines
}
