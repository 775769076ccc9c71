package archtest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated files again")

const binary = module + "/cmd/petcat"

func TestBinaryLinksNothingForTests(t *testing.T) {
	p := loadProject(t)
	forTests := []string{
		"testing", "testing/", "net/http/httptest",
		module + "/internal/apicheck", // and all of ours whose names end in "test"
		"github.com/google/go-cmp/", "github.com/rogpeppe/", "github.com/getkin/", "github.com/anishathalye/",
		"go.uber.org/goleak", "pgregory.net/", "github.com/hanwen/",
	}
	pkg := p.find(t, binary)
	for _, dep := range pkg.Deps {
		if matches(dep, forTests) || strings.HasPrefix(dep, module+"/") && strings.HasSuffix(dep, "test") {
			t.Errorf("the binary links %s: it registers flags, weighs, and is not meant to meet a stranger", dep)
		}
	}
}

// TestGeneratedBinaryDependencies keeps the list of what the binary is made of
// beside it, so that a new dependency shows in the review of the change that
// brings it.
func TestGeneratedBinaryDependencies(t *testing.T) {
	p := loadProject(t)
	const golden = "cmd/petcat/deps.txt"
	versions := map[string]string{}
	for _, dep := range p.find(t, binary).Deps {
		if pkg := p.all[dep]; pkg != nil && pkg.Module != nil && pkg.Module.Path != module {
			versions[pkg.Module.Path] = pkg.Module.Version
		}
	}
	var b strings.Builder
	b.WriteString("# The modules that bin/petcat is built from. Made by: make gen\n")
	for _, path := range sorted(versions) {
		fmt.Fprintf(&b, "%s %s\n", path, versions[path])
	}
	if *update {
		if err := os.WriteFile(filepath.Join(p.root, golden), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(p.read(t, golden), b.String()); diff != "" {
		t.Errorf("%s is out of date: run make gen (-committed +now)\n%s", golden, diff)
	}
}

// requirement finds a module's line in a go.mod.
var requirement = regexp.MustCompile(`(?m)^\s*(?:require\s+)?([^\s/]+\.[^\s]+)\s+(v\S+)(\s*// indirect)?\s*$`)

type required struct {
	version string
	direct  bool
}

func requirements(text string) map[string]required {
	found := map[string]required{}
	for _, m := range requirement.FindAllStringSubmatch(text, -1) {
		found[m[1]] = required{version: m[2], direct: m[3] == ""}
	}
	return found
}

// TestSQLiteRuntime: the SQLite driver is machine-translated C, and works with
// exactly the C runtime that it was translated against. Another module can
// raise the runtime's version unnoticed.
func TestSQLiteRuntime(t *testing.T) {
	p := loadProject(t)
	const driverModule, runtimeModule = "modernc.org/sqlite", "modernc.org/libc"
	list := func(format, of string) string {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", format, of)
		cmd.Dir = p.root
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list -m %s: %v", of, err)
		}
		return strings.TrimSpace(string(out))
	}
	theirs, err := os.ReadFile(list("{{.GoMod}}", driverModule))
	if err != nil {
		t.Fatal(err)
	}
	want := requirements(string(theirs))[runtimeModule].version
	if have := list("{{.Version}}", runtimeModule); want == "" || have != want {
		t.Errorf("%s is %s, but %s was made for %q", runtimeModule, have, driverModule, want)
	}
}

// TestDependenciesAreJustified: each module that somebody chose has its line in
// the decision record, and the record names no other.
func TestDependenciesAreJustified(t *testing.T) {
	p := loadProject(t)
	const record = "docs/decisions/0007-dependencies.md"
	listed := map[string]bool{}
	for _, name := range submatches(p.read(t, record), "(?m)^\\| `([^`]+)` \\|") {
		listed[name] = true
	}
	chosen := map[string]bool{}
	for path, r := range requirements(p.read(t, "go.mod")) {
		if r.direct {
			chosen[path] = true
		}
	}
	for _, pkg := range p.own {
		for _, imported := range pkg.Imports {
			if other := p.all[imported]; other != nil && other.Module != nil && other.Module.Path != module {
				chosen[other.Module.Path] = true
			}
		}
	}
	if len(listed) == 0 || len(chosen) == 0 {
		t.Fatalf("%d modules in the record, %d in go.mod", len(listed), len(chosen))
	}
	for _, path := range sorted(chosen) {
		if !listed[path] {
			t.Errorf("%s has no line in %s that says why it is worth it", path, record)
		}
	}
	for _, path := range sorted(listed) {
		if !chosen[path] {
			t.Errorf("%s has a line in %s, but nobody chose it", path, record)
		}
	}
}

// TestToolsArePinned: the lock file of the npm tool holds checksums and names no
// server, so that any mirror serves.
func TestToolsArePinned(t *testing.T) {
	p := loadProject(t)
	for _, file := range p.matching(t, `/package-lock\.json$`) {
		if text := p.read(t, file); strings.Contains(text, `"resolved"`) || !strings.Contains(text, `"integrity"`) {
			t.Errorf("%s names a registry or holds no checksum: install with the .npmrc beside it", file)
		}
	}
}
