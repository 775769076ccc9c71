package archtest

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petcat/internal/config"
)

// Sources of the program that name its flags, and those that name its metrics.
const (
	commands = `^(cmd/petcat|internal/config)/[a-z_]*\.go$`
	sources  = `^([a-z_]+|(cmd|internal)/.*)\.go$`
)

// commandNames are those of the program, as a pattern.
const commandNames = `(?:account|audit|backup|ban|category|completion|config|dev|doctor|health|init|key|log-level|migrate|operator|plan|restore|serve|usage|verify|version)`

// maxRecordLines is one page.
const maxRecordLines = 70

var (
	fence    = regexp.MustCompile("(?s)(?:^|\n)[ ]{0,3}```[^\n]*\n(.*?)\n[ ]{0,3}```")
	variable = regexp.MustCompile(`\bPETCAT_[A-Z][A-Z_]*[A-Z]\b`)
	command  = regexp.MustCompile(`\bpetcat ` + commandNames + "\\b.*|(?m:^|`)--[a-z].*")
	flagWord = regexp.MustCompile("(?:^|[\\s\\[(|`])--([a-z][a-z-]*[a-z])")
)

func TestMakeTargets(t *testing.T) {
	p := loadProject(t)
	makefile := p.read(t, "Makefile")
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):([^=\n].*)?$`).FindAllStringSubmatch(makefile, -1) {
		targets[m[1]] = true
		if !strings.Contains(m[2], "## ") && !strings.HasPrefix(m[1], "need-") {
			t.Errorf("make %s has no line in make help: give it a ## comment", m[1])
		}
		if !strings.Contains(makefile, ".PHONY: "+m[1]+"\n") {
			t.Errorf("make %s is not declared .PHONY", m[1])
		}
	}
	// As code, or as a command on a line of its own.
	const named = "(?m)(?:`|^ *(?:\\$ )?)make((?: +[A-Z]+=\\S+)*(?: +[a-z][a-z-]*)+)"
	mentioned := map[string]bool{}
	for _, file := range append(p.matching(t, `\.md$`), ".ci/run") {
		for _, words := range submatches(p.read(t, file), named) {
			for word := range strings.FieldsSeq(words) {
				mentioned[word] = true
				if !strings.Contains(word, "=") && !targets[word] {
					t.Errorf("%s says make %s, which the Makefile does not know", file, word)
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

// TestDocumentsNamePathsThatExist holds for links, and for paths below a folder of
// ours and names of sources that are set as code. CHANGELOG.md tells of the past, and is
// left alone.
func TestDocumentsNamePathsThatExist(t *testing.T) {
	const (
		below = "`((?:api|bench|client|cmd|deploy|docs|e2e|internal|scripts|tools|\\.ci)/[A-Za-z0-9_.*/-]*)`"
		bare  = "`([A-Za-z0-9_-]+\\.(?:go|lua|md|sql))`"
		link  = `\]\(([^)\s:#]+)[^)\s:]*\)`
	)
	p := loadProject(t)
	bases := map[string]bool{}
	for _, file := range p.files {
		bases[path.Base(file)] = true
	}
	for _, file := range p.matching(t, `\.md$`) {
		if file == "CHANGELOG.md" {
			continue
		}
		text := fence.ReplaceAllString(p.read(t, file), "")
		for _, name := range submatches(text, bare) {
			if !bases[name] {
				t.Errorf("%s names %s, and no file has that name", file, name)
			}
		}
		named := submatches(text, below)
		for _, to := range submatches(text, link) {
			if guide, found := strings.CutPrefix(to, "/docs/"); found { // on a server
				named = append(named, "docs/"+guide+".md")
			} else {
				named = append(named, path.Join(path.Dir(file), to))
			}
		}
		for _, name := range named {
			if found, _ := filepath.Glob(filepath.Join(p.root, name)); len(found) == 0 && !strings.Contains(name, "NNNN") {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
}

// TestLinksReachHeadings: a link into a document names a heading as code forges do.
func TestLinksReachHeadings(t *testing.T) {
	p := loadProject(t)
	link := regexp.MustCompile(`\]\(([^)\s:#]*)#([^)\s]+)\)`)
	dropped := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	headings := func(file string) (names []string) {
		for _, h := range submatches(fence.ReplaceAllString(p.read(t, file), ""), `(?m)^#+ (.*)$`) {
			names = append(names, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(h), ""), " ", "-"))
		}
		return names
	}
	for _, file := range p.matching(t, `\.md$`) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(p.read(t, file), ""), -1) {
			to := file
			if m[1] != "" {
				to = path.Join(path.Dir(file), m[1])
			}
			if !slices.Contains(p.files, to) || !slices.Contains(headings(to), m[2]) {
				t.Errorf("%s links to %s#%s, which is not there", file, to, m[2])
			}
		}
	}
}

// TestFlagsAndVariablesExist: a misspelt variable is only warned about, and a
// misspelt flag keeps a node from starting.
func TestFlagsAndVariablesExist(t *testing.T) {
	p := loadProject(t)
	known := map[string]bool{
		"PETCAT_VERSION": true, "PETCAT_PORT": true, "PETCAT_SERVICE_HOST": true, // of the compose file, and what Kubernetes sets
	}
	for _, s := range config.Table() {
		known[s.Env], known[s.Env+"_FILE"] = true, s.Secret
	}
	// Tests and the command line read variables of their own: documents alone may
	// name those.
	others := p.text(t, `\.go$|^Makefile$`)
	flags := p.text(t, commands) + `"help"`
	for _, file := range p.matching(t, `\.md$|^deploy/`) {
		text := p.read(t, file)
		for _, name := range variable.FindAllString(text, -1) {
			if !known[name] && (strings.HasPrefix(file, "deploy/") || !strings.Contains(others, name)) {
				t.Errorf("%s names the variable %s, which nothing reads", file, name)
			}
		}
		for _, name := range flagsNamed(text) {
			if !strings.Contains(flags, `"`+name+`"`) {
				t.Errorf("%s names the flag --%s, which the program does not have", file, name)
			}
		}
	}
	told := p.read(t, "docs/operations.md")
	for _, s := range config.Table() {
		if !strings.Contains(told, "`--"+s.Flag+"`") || !strings.Contains(told, "`"+s.Env+"`") {
			t.Errorf("docs/operations.md does not tell of `--%s` and `%s`", s.Flag, s.Env)
		}
	}
}

// flagsNamed returns the flags of the program that a text names: behind a command
// of petcat on one line, or set as code.
func flagsNamed(text string) []string {
	names := map[string]bool{}
	for _, line := range command.FindAllString(text, -1) {
		for _, name := range flagWord.FindAllStringSubmatch(line, -1) {
			names[name[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// TestFlagsNamed shows that the search is not blind.
func TestFlagsNamed(t *testing.T) {
	const text = "Set `--listen` or\n\n```\n$ curl --data x\n$ ./bin/petcat serve --data d --bans=off\n```\n\nand `petcat key create NAME [--label L]`, not\n`curl --silent`."
	if got, want := flagsNamed(text), []string{"bans", "data", "label", "listen"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	every := regexp.MustCompile("^" + commandNames + "$")
	for _, name := range submatches(loadProject(t).read(t, "cmd/petcat/program.go"), `\bp\.([a-zA-Z]+)Command\(\),`) {
		if name = strings.ToLower(regexp.MustCompile(`[A-Z]`).ReplaceAllString(name, "-$0")); !every.MatchString(name) {
			t.Errorf("the pattern of all commands lacks %s", name)
		}
	}
}

// TestDocumentsNameTestsThatExist: what is promised with the test that shows it stays so.
// CHANGELOG.md is left alone.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	p := loadProject(t)
	exists := map[string]bool{}
	for _, name := range submatches(p.text(t, `_test\.go$|test/.*\.go$`), `(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`) {
		exists[name] = true
	}
	for _, file := range p.matching(t, `\.md$`) {
		if file == "CHANGELOG.md" {
			continue
		}
		for _, name := range submatches(p.read(t, file), "`((?:Test|Fuzz|Benchmark)[A-Z]\\w+)`") {
			if !exists[name] {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
}

// TestDocumentsNameIdentifiersThatExist: what is renamed keeps its old name in the
// documents about the code, where no compiler looks.
func TestDocumentsNameIdentifiersThatExist(t *testing.T) {
	p := loadProject(t)
	words := map[string]bool{}
	for _, word := range regexp.MustCompile(`\w+`).FindAllString(p.text(t, `\.(go|yaml)$`), -1) {
		words[word] = true
	}
	identifier := regexp.MustCompile(`^\w*[a-z][A-Z]\w*$`)
	for _, file := range p.matching(t, `^(ARCHITECTURE|CONTRIBUTING)\.md$|^docs/decisions/`) {
		for _, name := range submatches(p.read(t, file), "`(\\w+(?:\\.\\w+)?)(?:\\(\\))?`") {
			for word := range strings.SplitSeq(name, ".") {
				if identifier.MatchString(word) && !words[word] {
					t.Errorf("%s names %s, and no source has the word %s", file, name, word)
				}
			}
		}
	}
}

func TestDecisionRecords(t *testing.T) {
	p := loadProject(t)
	const status = `Status: (?:accepted|superseded by [0-9]{4})\b`
	records := p.matching(t, `^docs/decisions/`)
	for i, file := range records {
		number, text := fmt.Sprintf("%04d", i+1), p.read(t, file)
		if !strings.HasPrefix(path.Base(file), number+"-") {
			t.Errorf("%s: the numbers run from 0001 without gaps; %s is next", file, number)
		}
		form := `(?s)^# ` + number + `\. [^\n]+\n.*\n` + status + `.*\n## Context\n.*\n## Options\n.*\n## Choice\n.*\n## What would change our mind\n`
		if !regexp.MustCompile(form).MatchString(text) {
			t.Errorf("%s does not have the form of a record: number and title, status, context, options, choice, what would change our mind", file)
		}
		if lines := strings.Count(text, "\n"); lines > maxRecordLines {
			t.Errorf("%s has %d lines; a record is one page, %d", file, lines, maxRecordLines)
		}
	}
	for _, file := range p.files {
		for _, number := range submatches(p.read(t, file), `(?i)\bdecisions? ([0-9]{4})\b`) {
			if !strings.Contains(strings.Join(records, "\n"), "/"+number+"-") {
				t.Errorf("%s refers to decision %s, which is not written", file, number)
			}
		}
	}
}

// TestSurvivorsAreLines: the lines in which mutants survive are those of today.
func TestSurvivorsAreLines(t *testing.T) {
	p := loadProject(t)
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(.+)` \\| .").FindAllStringSubmatch(p.read(t, "docs/mutants.md"), -1)
	if len(rows) == 0 {
		t.Fatal("docs/mutants.md lists no survivor")
	}
	for _, row := range rows {
		line := strings.ReplaceAll(row[2], `\|`, "|")
		if !strings.Contains(p.text(t, "^internal/"+row[1]+`/\w+\.go$`), "\t"+line+"\n") {
			t.Errorf("docs/mutants.md: no line of %s is %s", row[1], line)
		}
	}
}
