package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	variable = regexp.MustCompile(`\bPETCAT_[A-Z][A-Z_]*[A-Z]\b`)
	flagWord = regexp.MustCompile(`(?:^|[\s\[(|])--([a-z][a-z-]*[a-z])`)
)

// knownWords returns every text that the program's sources spell out: among
// them are the names of its flags and variables.
func (p *project) knownWords(t *testing.T) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	_, files := p.sources(t, p.find(t, binary))
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					words[s] = true
				}
			}
			return true
		})
	}
	// The framework's own flag.
	words["help"] = true
	return words
}

// settingNames returns the flags and variables of the program's table of
// settings.
func (p *project) settingNames(t *testing.T) (flags, variables []string) {
	t.Helper()
	_, files := p.sources(t, p.find(t, binary))
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, isIdent := pair.Key.(*ast.Ident)
			lit, isLit := pair.Value.(*ast.BasicLit)
			if !isIdent || !isLit {
				return true
			}
			value, err := strconv.Unquote(lit.Value)
			switch {
			case err != nil:
			case key.Name == "flag":
				flags = append(flags, value)
			case key.Name == "env":
				variables = append(variables, value)
			}
			return true
		})
	}
	if len(flags) == 0 || len(flags) != len(variables) {
		t.Fatalf("found %d flags and %d variables in the table of settings of cmd/petcat", len(flags), len(variables))
	}
	return flags, variables
}

func TestPapersNameSettingsThatExist(t *testing.T) {
	p := loadProject(t)
	words := p.knownWords(t)
	build := p.read(t, "Makefile")
	// Tests and the fault points read variables of their own.
	for _, file := range p.matching(t, ".go") {
		build += p.read(t, file)
	}
	for _, file := range p.matching(t, ".md") {
		text := p.read(t, file)
		for _, name := range variable.FindAllString(text, -1) {
			if !words[name] && !words[strings.TrimSuffix(name, "_FILE")] && !strings.Contains(build, name) {
				t.Errorf("%s names the variable %s, which nothing reads", file, name)
			}
		}
		for _, name := range flagsNamed(text) {
			if !words[name] {
				t.Errorf("%s names the flag --%s, which the program does not have", file, name)
			}
		}
	}
}

// flagsNamed returns the flags of the program that a document names: in a span
// that begins with a flag, and in a command of petcat.
func flagsNamed(text string) []string {
	spans, lines := code(text)
	var names []string
	for _, s := range append(spans, lines...) {
		at := strings.Index(s, "petcat ")
		if at < 0 && !strings.HasPrefix(s, "--") {
			continue
		}
		for _, m := range flagWord.FindAllStringSubmatch(s[max(at, 0):], -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestOperationsPaperNamesEverySetting is the other direction: what an operator
// can set is written down.
func TestOperationsPaperNamesEverySetting(t *testing.T) {
	p := loadProject(t)
	flags, variables := p.settingNames(t)
	text := p.paper(t, "docs/operations.md")
	if text == "" {
		return
	}
	for i, name := range flags {
		if !strings.Contains(text, "`--"+name+"`") || !strings.Contains(text, "`"+variables[i]+"`") {
			t.Errorf("docs/operations.md does not tell of `--%s` and `%s`", name, variables[i])
		}
	}
}

// TestFlagsNamed shows that the search is not blind.
func TestFlagsNamed(t *testing.T) {
	const text = "Set `--listen` or\n\n```\n$ curl --data x\n$ ./bin/petcat serve --data d --bans=off\n```\n\nand `petcat key create NAME [--label L]`, not `curl --silent`."
	if got, want := flagsNamed(text), []string{"bans", "data", "label", "listen"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
