package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the generated files")

// module is the path of the module, and of the package at its root.
const (
	module   = "github.com/petcat-api/petcat"
	internal = module + "/internal/"
)

// goPackage is a package as "go list" reports it.
type goPackage struct {
	ImportPath    string
	Standard      bool
	Imports, Deps []string
	Module        *struct{ Path, Version string }
}

var packagesOnce = sync.OnceValues(listPackages)

// packages returns every package that the module links, by path.
func packages(t *testing.T) map[string]*goPackage {
	t.Helper()
	all, err := packagesOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// listPackages lists the packages for the releases' platform, so that the result is the same on
// every machine.
func listPackages() (map[string]*goPackage, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps,Module", "./...")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	all := map[string]*goPackage{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg goPackage
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[pkg.ImportPath] = &pkg
	}
}

// below reports whether a path is one of the names, or starts with one that ends in a slash.
func below(path string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return path == name || strings.HasSuffix(name, "/") && strings.HasPrefix(path, name)
	})
}

// drivers are the packages that give access to a database.
var drivers = []string{"database/sql", "modernc.org/", "github.com/jackc/", internal + "sqlite", internal + "postgres"}

// TestRootAndSDKLinkOnlyStandardLibrary: the root also compares names in the forms of Unicode, which the
// standard library lacks.
func TestRootAndSDKLinkOnlyStandardLibrary(t *testing.T) {
	all := packages(t)
	for name, allowed := range map[string][]string{
		module:             {"golang.org/x/text/unicode/norm", "golang.org/x/text/transform"},
		module + "/client": {},
	} {
		for _, dep := range all[name].Deps {
			if !all[dep].Standard && !slices.Contains(allowed, dep) {
				t.Errorf("%s links %s, which is not in the standard library", name, dep)
			}
		}
	}
}

// floors returns the rooms of internal, from the lowest floor up. A room imports only rooms on lower
// floors, so rooms on one floor never import each other.
func floors() [][]string {
	return [][]string{
		{"clientnet", "clock", "config", "datadir", "logging", "metrics", "representation", "schema", "tracing", "web"},
		{"catalog", "events", "groupcommit", "keyring", "usage"},
		{"ratelimit", "store"},
		{"pages", "postgres", "sqlite"},
		{"backup", "console", "httpapi", "importer", "management", "portal", "reference"},
		{"server"}, // wires all others
		{"doctor"},
	}
}

// TestFloors checks the imports of every room in the tree.
func TestFloors(t *testing.T) {
	floorOf := map[string]int{}
	for floor, rooms := range floors() {
		for _, room := range rooms {
			floorOf[internal+room] = floor
		}
	}
	for path, pkg := range packages(t) {
		if !strings.HasPrefix(path, internal) || isForTests(path) {
			continue
		}
		floor, known := floorOf[path]
		if !known {
			t.Errorf("%s is on no floor; add it to floors", path)
		}
		for _, imported := range pkg.Imports {
			if strings.HasPrefix(imported, internal) && floorOf[imported] >= floor {
				t.Errorf("%s imports %s, which is not on a lower floor", path, imported)
			}
		}
	}
}

// isForTests reports whether a package of the module is only for tests.
func isForTests(path string) bool {
	return strings.HasPrefix(path, module+"/") && (strings.HasSuffix(path, "test") || path == internal+"apicheck")
}

// TestForbiddenImports also checks indirect imports.
func TestForbiddenImports(t *testing.T) {
	all := packages(t)
	for name, forbidden := range map[string][]string{
		module:                  {"net", "net/http", "database/sql", "log/slog"},
		internal + "httpapi":    append([]string{"github.com/prometheus/"}, drivers...),
		internal + "management": append([]string{"github.com/prometheus/"}, drivers...),
		internal + "console":    append([]string{"github.com/prometheus/"}, drivers...),
		internal + "portal":     append([]string{"github.com/prometheus/"}, drivers...),
		internal + "reference":  append([]string{"github.com/prometheus/"}, drivers...),
		internal + "catalog":    append([]string{"net/http"}, drivers...),
		internal + "keyring":    append([]string{"net/http"}, drivers...),
		internal + "ratelimit":  append([]string{"net/http"}, drivers...),
		internal + "usage":      drivers,
		internal + "store":      append([]string{"net/http"}, drivers...),
		internal + "sqlite":     {"net/http", "github.com/jackc/", "github.com/prometheus/", internal + "postgres"},
		internal + "postgres":   {"net/http", "modernc.org/", "github.com/prometheus/", internal + "sqlite"},
	} {
		for _, dep := range all[name].Deps {
			if below(dep, forbidden...) {
				t.Errorf("%s links %s", name, dep)
			}
		}
	}
}

func TestBinaryLinksNoTestPackages(t *testing.T) {
	for _, dep := range packages(t)[module+"/cmd/petcat"].Deps {
		if isForTests(dep) || below(dep, "testing", "net/http/httptest", "github.com/google/go-cmp/", "github.com/getkin/") {
			t.Errorf("the binary links %s", dep)
		}
	}
}

// TestGeneratedBinaryDependencies keeps a list of the binary's modules next to its source, so
// that reviewers see a new dependency.
func TestGeneratedBinaryDependencies(t *testing.T) {
	const golden = "../../cmd/petcat/deps.txt"
	all, versions := packages(t), map[string]string{}
	for _, dep := range all[module+"/cmd/petcat"].Deps {
		if m := all[dep].Module; m != nil && m.Path != module && m.Path != module+"/client" {
			versions[m.Path] = m.Version
		}
	}
	var b strings.Builder
	b.WriteString("# The modules that bin/petcat is built from. Made by: make gen\n")
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		fmt.Fprintf(&b, "%s %s\n", path, versions[path])
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), b.String()); diff != "" {
		t.Errorf("cmd/petcat/deps.txt is out of date: run make gen (-committed +now)\n%s", diff)
	}
}

// TestGeneratedChartFiles keeps copies of the alerts and the dashboard in the Helm chart, because a
// chart cannot contain files from outside its directory.
func TestGeneratedChartFiles(t *testing.T) {
	const chart = "../../deploy/helm/petcat/files/"
	for source, copied := range map[string]string{
		"../../deploy/prometheus/alerts.yaml": chart + "alerts.yaml",
		"../../deploy/grafana/petcat.json":    chart + "dashboard.json",
	} {
		want, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(copied, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(copied)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("%s is out of date: run make gen (-committed +now)\n%s", copied, diff)
		}
	}
}

// TestSQLiteRuntimeVersion: the driver is machine-translated C, and works only with the version
// of the C runtime that it was translated for. Another module can raise that version.
func TestSQLiteRuntimeVersion(t *testing.T) {
	const runtimeModule = "modernc.org/libc"
	list := func(format, of string) string {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", format, of).Output()
		if err != nil {
			t.Fatalf("go list -m %s: %v", of, err)
		}
		return strings.TrimSpace(string(out))
	}
	wanted, err := os.ReadFile(list("{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(runtimeModule + ` (v\S+)`).FindSubmatch(wanted)
	if used := list("{{.Version}}", runtimeModule); m == nil || used != string(m[1]) {
		t.Errorf("%s is at %s, but the SQLite driver requires %q", runtimeModule, used, m)
	}
}
