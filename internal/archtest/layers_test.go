package archtest

import (
	"path"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// driver are the packages through which one reaches a database or a server
// that keeps counts.
var driver = []string{
	"database/sql", "modernc.org/", "github.com/jackc/", "github.com/redis/", "github.com/valkey-io/",
	module + "/internal/sqlite", module + "/internal/postgres", module + "/internal/pgcounters",
	module + "/internal/rediscounters",
}

// layers says what a package must not link, however far down. A name that ends
// in a slash stands for everything below it.
var layers = []struct {
	pkg string
	not []string
	why string
}{
	{
		module,
		[]string{"net/http", "database/sql", "log/slog", "net", module + "/"},
		"the domain is rules, not machinery: it must be the same for every store and every front end",
	},
	{
		module + "/api", append([]string{"net/http", module + "/internal/"}, driver...),
		"the contract is a thing that one reads, here and elsewhere",
	},
	{
		module + "/internal/ratelimit", append([]string{"net/http", module + "/internal/httpapi"}, driver...),
		"windows and bans are arithmetic; who stores counts implements the interfaces",
	},
	{
		module + "/internal/clusterlimit", append([]string{"net/http", module + "/internal/httpapi"}, driver...),
		"what nodes do alike does not depend on where they count",
	},
	{
		module + "/internal/catalog", append([]string{module + "/internal/httpapi"}, driver...),
		"the read model is fed, and asks no store of its own accord",
	},
	{
		module + "/internal/keyring", append([]string{module + "/internal/httpapi"}, driver...),
		"it works on any store",
	},
	{
		module + "/internal/changelog", append([]string{module + "/internal/httpapi"}, driver...),
		"it works on any store",
	},
	{
		module + "/internal/socket", append([]string{"net/http", module + "/internal/httpapi"}, driver...),
		"connections are below HTTP",
	},
	{
		module + "/internal/httpapi", append([]string{"github.com/prometheus/"}, driver...),
		"no handler sees a database, a transaction or the metrics library",
	},
	{
		module + "/internal/console", append([]string{"github.com/prometheus/"}, driver...),
		"no page sees a database, a transaction or the metrics library",
	},
	{
		module + "/internal/config", append([]string{"net/http", module + "/internal/"}, driver...),
		"settings are read and checked, and nothing is opened",
	},
	{
		module + "/internal/server",
		[]string{"github.com/spf13/cobra"},
		"a node is started by a command, and knows none",
	},
	{
		module + "/internal/store", append([]string{"net/http", module + "/internal/httpapi"}, driver...),
		"operations and their SQL are the same on every database",
	},
	{
		module + "/internal/sqlite",
		[]string{"net/http", "github.com/jackc/", "github.com/prometheus/"},
		"a store knows its engine and the domain",
	},
	{
		module + "/internal/postgres",
		[]string{"net/http", "modernc.org/", "github.com/prometheus/"},
		"a store knows its engine and the domain",
	},
	{module + "/internal/metrics", driver[1:], // the metrics library itself knows database/sql
		"numbers are handed to it; it fetches none"},
}

func TestLayers(t *testing.T) {
	p := loadProject(t)
	for _, layer := range layers {
		t.Run(layer.pkg, func(t *testing.T) {
			for _, dep := range p.find(t, layer.pkg).Deps {
				if matches(dep, layer.not) {
					t.Errorf("%s links %s, but %s", layer.pkg, dep, layer.why)
				}
			}
		})
	}
}

// matches reports whether a path is one of the names, or below one that ends in
// a slash.
func matches(importPath string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return importPath == name || strings.HasSuffix(name, "/") && strings.HasPrefix(importPath, name)
	})
}

// TestStandardLibraryAlone: the domain and the SDK link nothing else, not even each other.
func TestStandardLibraryAlone(t *testing.T) {
	p := loadProject(t)
	for _, name := range []string{module, module + "/client"} {
		for _, dep := range p.find(t, name).Deps {
			if known := p.all[dep]; known == nil || !known.Standard {
				t.Errorf("%s links %s, which is not in the standard library", name, dep)
			}
		}
	}
}

// TestAdaptersStandAlone: what connects the domain to one technology never
// knows another; only internal/server puts them together.
func TestAdaptersStandAlone(t *testing.T) {
	p := loadProject(t)
	adapters := []string{
		module + "/internal/console",
		module + "/internal/httpapi",
		module + "/internal/metrics",
		module + "/internal/pgcounters",
		module + "/internal/postgres",
		module + "/internal/rediscounters",
		module + "/internal/sqlite",
	}
	for _, name := range adapters {
		for _, other := range adapters {
			if slices.Contains(p.find(t, name).Deps, other) {
				t.Errorf("%s links %s: adapters import the domain, never each other", name, other)
			}
		}
	}
}

// TestEveryPackageHasAnImportRule: a package that depguard has no rule for may
// import anything.
func TestEveryPackageHasAnImportRule(t *testing.T) {
	p := loadProject(t)
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct{ Files []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(p.read(t, ".golangci.yml")), &config); err != nil {
		t.Fatal(err)
	}
	ruled := map[string]bool{}
	for _, rule := range config.Linters.Settings.Depguard.Rules {
		for _, file := range rule.Files {
			if dir, found := strings.CutPrefix(file, "${base-path}"); found {
				ruled[module+path.Dir(dir)] = true
			}
		}
	}
	for _, pkg := range p.own {
		if !ruled[pkg.ImportPath] && !ruled[pkg.ImportPath+"/"] {
			t.Errorf("%s has no rule under depguard in .golangci.yml that says what it may import", pkg.ImportPath)
		}
	}
}
