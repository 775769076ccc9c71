package archtest

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petcat"
)

// plannedPapers are the documents that tests already know of and that are still
// to be written. Who adds one takes it out of this list.
var plannedPapers = []string{}

// paper returns a document, or "" when it is still to be written.
func (p *project) paper(t *testing.T, file string) string {
	t.Helper()
	if !p.exists(file) && slices.Contains(plannedPapers, file) {
		return ""
	}
	return p.read(t, file)
}

var (
	fence    = regexp.MustCompile("(?s)(?:^|\n)[ ]{0,3}```[^\n]*\n(.*?)\n[ ]{0,3}```")
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// code returns what a document sets as code: spans, and the lines of blocks.
func code(text string) (spans, lines []string) {
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Split(block[1], "\n")...)
	}
	text = fence.ReplaceAllString(text, "\n")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "    ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
		spans = append(spans, span[1])
	}
	return spans, lines
}

func TestErrorsPaperNamesEveryCode(t *testing.T) {
	p := loadProject(t)
	text := p.paper(t, "docs/errors.md")
	if text == "" {
		return
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^(?:\\|[^`\n]*|#+ )`([a-z0-9_]+)`").FindAllStringSubmatch(text, -1) {
		listed[m[1]] = true
	}
	for _, c := range petcat.Codes() {
		if !listed[string(c)] {
			t.Errorf("docs/errors.md has no row or heading for `%s`", c)
		}
		delete(listed, string(c))
	}
	for _, name := range sorted(listed) {
		t.Errorf("docs/errors.md explains `%s`, which is not a code", name)
	}
}

// target finds the targets of the Makefile, with what make help says of them.
var target = regexp.MustCompile(`(?m)^([a-z][a-z-]*):([^=\n].*)?$`)

func TestMakeTargets(t *testing.T) {
	p := loadProject(t)
	makefile := p.read(t, "Makefile")
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(makefile, -1) {
		targets[m[1]] = true
		if !strings.Contains(m[2], "## ") && !strings.HasPrefix(m[1], "need-") {
			t.Errorf("make %s has no line in make help: give it a ## comment", m[1])
		}
		if !strings.Contains(makefile, ".PHONY: "+m[1]+"\n") {
			t.Errorf("make %s is not declared .PHONY", m[1])
		}
	}
	if len(targets) == 0 {
		t.Fatal("no target found in the Makefile")
	}
	named := regexp.MustCompile(`(?:^|[;&|]\s*|\$ )make((?: +[A-Z]+=\S+)*(?: +[a-z][a-z-]*)+)`)
	mentioned := map[string]bool{}
	for _, file := range append(p.matching(t, ".md"), ".ci/run") {
		spans, lines := code(p.read(t, file))
		if file == ".ci/run" {
			lines = strings.Split(p.read(t, file), "\n")
		}
		for _, text := range append(spans, lines...) {
			for _, m := range named.FindAllStringSubmatch(text, -1) {
				for word := range strings.FieldsSeq(m[1]) {
					mentioned[word] = true
					if !strings.Contains(word, "=") && !targets[word] {
						t.Errorf("%s says make %s, which the Makefile does not know", file, word)
					}
				}
			}
		}
	}
	for _, name := range []string{"run", "test", "check"} {
		if !mentioned[name] {
			t.Errorf("no document tells of make %s", name)
		}
	}
}

// topLevel are the folders whose names begin a path in a document. They need
// not exist: a folder that went away must not take the test with it.
var topLevel = []string{"api", "bench", "client", "cmd", "deploy", "docs", "internal", "scripts", "tools", ".ci"}

var (
	pathLike = regexp.MustCompile(`^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*/?$`)
	fileLike = regexp.MustCompile(`^\.?[A-Za-z0-9_*-]+(\.(go|md|yml|yaml|mod|sum|sql)|_test\.go)$|^(Makefile|LICENSE)$`)
)

// TestPapersNamePathsThatExist holds for what is set as code and for links.
// CHANGELOG.md tells of the past, and is left alone.
func TestPapersNamePathsThatExist(t *testing.T) {
	p := loadProject(t)
	for _, file := range p.matching(t, ".md") {
		if file == "CHANGELOG.md" {
			continue
		}
		text := p.read(t, file)
		spans, _ := code(text)
		for _, span := range spans {
			if !p.namesPath(span) || strings.Contains(span, "NNNN") {
				continue
			}
			if !p.somewhere(span) && !slices.Contains(plannedPapers, span) {
				t.Errorf("%s names `%s`, which does not exist", file, span)
			}
		}
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			to, _, _ := strings.Cut(m[1], "#")
			if to == "" || strings.Contains(to, ":") {
				continue
			}
			if to = path.Join(path.Dir(file), to); !p.exists(to) && !slices.Contains(plannedPapers, to) {
				t.Errorf("%s links to %s, which does not exist", file, m[1])
			}
		}
	}
}

func (p *project) namesPath(span string) bool {
	if !pathLike.MatchString(span) {
		return false
	}
	first, _, below := strings.Cut(span, "/")
	return below && slices.Contains(topLevel, first) || !below && fileLike.MatchString(span)
}

// somewhere reports whether a path exists from the root, or a bare file name
// anywhere.
func (p *project) somewhere(name string) bool {
	if found, _ := filepath.Glob(filepath.Join(p.root, name)); len(found) > 0 {
		return true
	}
	return !strings.Contains(name, "/") && slices.ContainsFunc(p.files, func(f string) bool {
		match, _ := path.Match(name, path.Base(f))
		return match
	})
}

func TestPlannedPapersAreNotThere(t *testing.T) {
	p := loadProject(t)
	for _, file := range plannedPapers {
		if p.exists(file) {
			t.Errorf("%s is there now: take it out of the list of planned papers", file)
		}
	}
}

// TestNoTraceOfTheWorkplace: the repository speaks of the product alone. The
// patterns are put together so that this file does not match itself.
func TestNoTraceOfTheWorkplace(t *testing.T) {
	p := loadProject(t)
	traces := map[string]*regexp.Regexp{
		"a path of somebody's machine": regexp.MustCompile(`(^|[\s"'(=])/(work|home/[a-z]+|Users/[A-Za-z]+|tmp/[a-z]+)` + `/`),
		"a folder beside the checkout": regexp.MustCompile(`\.\./` + `shared`),
		"a package registry's address": regexp.MustCompile(`(proxy|sum)\.golang` + `\.org|registry\.npmjs` + `\.org|registry\.yarnpkg` + `\.com`),
		"an issue by its number":       regexp.MustCompile(`(?i)\bissues? #?` + `[0-9]`),
	}
	for _, file := range p.files {
		text := p.read(t, file)
		for _, what := range sorted(traces) {
			if m := traces[what].FindString(text); m != "" {
				t.Errorf("%s holds %s: %q", file, what, m)
			}
		}
	}
}
