package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// deployed returns the files of deploy/ that end so.
func (p *project) deployed(t *testing.T, suffixes ...string) []string {
	t.Helper()
	var found []string
	for _, file := range p.files {
		ends := func(suffix string) bool { return strings.HasSuffix(file, suffix) }
		if strings.HasPrefix(file, "deploy/") && (len(suffixes) == 0 || slices.ContainsFunc(suffixes, ends)) {
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no file below deploy/ ends in %q", suffixes)
	}
	return found
}

// documents parses the documents of a YAML file.
func (p *project) documents(t *testing.T, file string) []any {
	t.Helper()
	var all []any
	for dec := yaml.NewDecoder(strings.NewReader(p.read(t, file))); ; {
		var document any
		if err := dec.Decode(&document); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, document)
	}
}

// find returns what stands under a name anywhere in a document.
func find(document any, name string) (found []any) {
	switch d := document.(type) {
	case map[string]any:
		for _, key := range sorted(d) {
			if key == name {
				found = append(found, d[key])
			}
			found = append(found, find(d[key], name)...)
		}
	case []any:
		for _, element := range d {
			found = append(found, find(element, name)...)
		}
	}
	return found
}

// findText returns it as texts.
func findText(document any, name string) (found []string) {
	for _, value := range find(document, name) {
		found = append(found, fmt.Sprint(value))
	}
	return found
}

func TestDeployParses(t *testing.T) {
	p := loadProject(t)
	for _, file := range p.deployed(t, ".yaml", ".yml") {
		for i, document := range p.documents(t, file) {
			if _, ok := document.(map[string]any); !ok {
				t.Errorf("%s: document %d is no mapping", file, i+1)
			}
		}
	}
	for _, file := range p.deployed(t, ".json") {
		var document map[string]any
		if err := json.Unmarshal([]byte(p.read(t, file)), &document); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// command finds the commands of the program in comments and scripts.
var command = regexp.MustCompile(`\bpetcat (?:serve|health|dev|account|key|ban|plan|config)\b.*`)

// TestDeployNamesSettingsThatExist: a misspelt variable is only warned about,
// and a misspelt flag keeps a node from starting.
func TestDeployNamesSettingsThatExist(t *testing.T) {
	p := loadProject(t)
	words := p.knownWords(t)
	known := []string{
		"PETCAT_VERSION",                     // of the compose file itself
		"PETCAT_PORT", "PETCAT_SERVICE_HOST", // what Kubernetes sets
	}
	p.eachSetting(t, func(fields map[string]ast.Expr) {
		env := text(fields["env"])
		known = append(known, env)
		if secret, ok := fields["secret"].(*ast.Ident); ok && secret.Name == "true" {
			known = append(known, env+"_FILE")
		}
	})
	for _, file := range p.deployed(t) {
		content := p.read(t, file)
		for _, name := range variable.FindAllString(content, -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s sets %s, which nothing reads", file, name)
			}
		}
		for _, line := range command.FindAllString(content, -1) {
			for _, m := range flagWord.FindAllStringSubmatch(line, -1) {
				if !words[m[1]] {
					t.Errorf("%s names the flag --%s, which the program does not have", file, m[1])
				}
			}
		}
	}
}

// fallback returns the default of a setting.
func (p *project) fallback(t *testing.T, env string) string {
	t.Helper()
	value := ""
	p.eachSetting(t, func(fields map[string]ast.Expr) {
		if text(fields["env"]) == env {
			value = text(fields["fallback"])
		}
	})
	if value == "" {
		t.Fatalf("%s has no default in the table of settings", env)
	}
	return value
}

// eachSetting calls f with the fields of each line of the table of settings.
func (p *project) eachSetting(t *testing.T, f func(fields map[string]ast.Expr)) {
	t.Helper()
	p.eachLiteral(t, binary, func(lit *ast.CompositeLit) {
		if fields := fieldsOf(lit); fields["flag"] != nil && fields["env"] != nil {
			f(fields)
		}
	})
}

// eachLiteral calls f with every composite literal of a package.
func (p *project) eachLiteral(t *testing.T, importPath string, f func(*ast.CompositeLit)) {
	t.Helper()
	_, files := p.sources(t, p.find(t, importPath))
	for _, name := range sorted(files) {
		ast.Inspect(files[name], func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				f(lit)
			}
			return true
		})
	}
}

func fieldsOf(lit *ast.CompositeLit) map[string]ast.Expr {
	fields := map[string]ast.Expr{}
	for _, element := range lit.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.Ident); ok {
				fields[name.Name] = pair.Value
			}
		}
	}
	return fields
}

// text returns the value of a string that is spelt out, "" of anything else.
func text(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	value, _ := strconv.Unquote(lit.Value)
	return value
}

// constant returns the expression of a constant of the program.
func (p *project) constant(t *testing.T, name string) ast.Expr {
	t.Helper()
	_, files := p.sources(t, p.find(t, binary))
	for _, file := range sorted(files) {
		for _, decl := range files[file].Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec)
				if i := slices.IndexFunc(value.Names, func(n *ast.Ident) bool { return n.Name == name }); i >= 0 && i < len(value.Values) {
					return value.Values[i]
				}
			}
		}
	}
	t.Fatalf("cmd/petcat has no constant %s", name)
	return nil
}

// stopTime is what a node may need to stop: the time for requests in flight,
// and for closing.
func (p *project) stopTime(t *testing.T) time.Duration {
	t.Helper()
	drain, err := time.ParseDuration(p.fallback(t, "PETCAT_SHUTDOWN_TIMEOUT"))
	if err != nil {
		t.Fatal(err)
	}
	product, ok := p.constant(t, "closeTimeout").(*ast.BinaryExpr)
	if !ok {
		t.Fatal("closeTimeout is not a number times a unit")
	}
	seconds, err := strconv.Atoi(product.X.(*ast.BasicLit).Value)
	if err != nil || product.Y.(*ast.SelectorExpr).Sel.Name != "Second" {
		t.Fatalf("closeTimeout is not a number of seconds: %v", err)
	}
	return drain + time.Duration(seconds)*time.Second
}

var notRestarted = regexp.MustCompile(`(?m)^\| (\d+) \|.*\| not restart \|$`)

// TestUnitKnowsTheProgram compares the systemd unit with the program that it
// runs, and both with what operators are told.
func TestUnitKnowsTheProgram(t *testing.T) {
	p := loadProject(t)
	const unit = "deploy/systemd/petcat.service"
	options := map[string]string{}
	for line := range strings.Lines(p.read(t, unit)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			options[name] = value
		}
	}
	got := strings.Fields(options["RestartPreventExitStatus"])
	var want, told []string
	for _, name := range []string{"exitUsage", "exitConfig"} {
		want = append(want, p.constant(t, name).(*ast.BasicLit).Value)
	}
	for _, m := range notRestarted.FindAllStringSubmatch(p.read(t, "docs/operations.md"), -1) {
		told = append(told, m[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: RestartPreventExitStatus is not exitUsage and exitConfig (-want +got):\n%s", unit, diff)
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("docs/operations.md tells supervisors otherwise (-want +got):\n%s", diff)
	}
	if stop, err := time.ParseDuration(options["TimeoutStopSec"]); err != nil || stop <= p.stopTime(t) {
		t.Errorf("%s: TimeoutStopSec is %q, but stopping may take %s", unit, options["TimeoutStopSec"], p.stopTime(t))
	}
}

// TestContainersKnowTheProgram compares the ports and the patience of the other
// deployments with the defaults of the program.
func TestContainersKnowTheProgram(t *testing.T) {
	p := loadProject(t)
	port := func(env string) string {
		_, port, err := net.SplitHostPort(p.fallback(t, env))
		if err != nil {
			t.Fatal(err)
		}
		return port
	}
	api, admin, stop := port("PETCAT_LISTEN"), port("PETCAT_ADMIN_LISTEN"), p.stopTime(t)

	t.Run("kubernetes", func(t *testing.T) {
		pods := p.documents(t, "deploy/kubernetes/deployment.yaml")[0]
		if diff := cmp.Diff([]string{api, admin}, findText(pods, "containerPort")); diff != "" {
			t.Errorf("ports (-want +got):\n%s", diff)
		}
		if got := findText(pods, "port"); !slices.Equal(got, []string{"admin", "admin", "admin"}) {
			t.Errorf("the three probes ask %q, want the admin port", got)
		}
		before, _ := strconv.Atoi(findText(find(pods, "preStop"), "seconds")[0])
		patience, _ := strconv.Atoi(findText(pods, "terminationGracePeriodSeconds")[0])
		if stop += time.Duration(before) * time.Second; time.Duration(patience)*time.Second <= stop {
			t.Errorf("pods are killed after %d s, but stopping may take %s", patience, stop)
		}
		if got := p.find1(t, "deploy/kubernetes/configmap.yaml", "PETCAT_ADMIN_LISTEN"); got != ":"+admin {
			t.Errorf("the admin listener is at %q, want :%s", got, admin)
		}
		for _, file := range p.deployed(t, ".example.yaml") {
			for _, address := range append(p.findAll(t, file, "database"), p.findAll(t, file, "limiter")...) {
				if !strings.Contains(address, ":CHANGE-ME@") {
					t.Errorf("%s holds an address whose password is not CHANGE-ME", file)
				}
			}
		}
	})
	t.Run("compose", func(t *testing.T) {
		const file = "deploy/compose.yaml"
		if got := p.findAll(t, file, "PETCAT_ADMIN_LISTEN"); got[0] != ":"+admin {
			t.Errorf("the admin listener is at %q, want :%s", got, admin)
		}
		if got := p.findAll(t, file, "PETCAT_LISTEN"); got[0] != ":"+api {
			t.Errorf("the API is at %q, want :%s", got, api)
		}
		for _, value := range p.findAll(t, file, "stop_grace_period") {
			if patience, err := time.ParseDuration(value); err != nil || patience <= p.stopTime(t) {
				t.Errorf("%s: stop_grace_period is %s, but stopping may take %s", file, value, p.stopTime(t))
			}
		}
	})
	t.Run("proxies", func(t *testing.T) {
		for file, wants := range map[string][]string{
			"deploy/compose/haproxy.cfg": {"port " + admin, "petcat-1:" + api, "petcat-2:" + api, "petcat-3:" + api},
			"deploy/proxy/haproxy.cfg":   {"port " + admin, "127.0.0.1:" + api},
			"deploy/proxy/nginx.conf":    {"server 127.0.0.1:" + api},
			"deploy/proxy/Caddyfile":     {"reverse_proxy 127.0.0.1:" + api, "health_port " + admin},
		} {
			for _, want := range wants {
				if !strings.Contains(p.read(t, file), want) {
					t.Errorf("%s does not say %q", file, want)
				}
			}
		}
	})
	t.Run("image", func(t *testing.T) {
		const file = "deploy/docker/Dockerfile"
		if want := "EXPOSE " + api + " " + admin + "\n"; !strings.Contains(p.read(t, file), want) {
			t.Errorf("%s does not say %q", file, want)
		}
		// The same program as that of make build.
		build := regexp.MustCompile(`CGO_ENABLED=0 go build -trimpath -ldflags .-s -w -X main\.version=`)
		for _, file := range []string{file, "Makefile"} {
			if !build.MatchString(p.read(t, file)) {
				t.Errorf("%s does not build with %q", file, build)
			}
		}
		p.checkContext(t, file+".dockerignore")
	})
}

// checkContext fails when the image is built without a package that it needs, or
// with the secrets of the compose file.
func (p *project) checkContext(t *testing.T, ignore string) {
	t.Helper()
	ignored := strings.Fields(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(p.read(t, ignore), ""))
	for _, name := range []string{".git", "data", "deploy"} {
		if !slices.Contains(ignored, name) {
			t.Errorf("%s lets %s into the image's context", ignore, name)
		}
	}
	for _, dep := range p.find(t, binary).Deps {
		pkg := p.all[dep]
		if pkg == nil || !slices.Contains(p.own, pkg) {
			continue
		}
		if first, _, _ := strings.Cut(pkg.rel(), "/"); slices.Contains(ignored, first) {
			t.Errorf("%s keeps %s out, of which the program is made", ignore, dep)
		}
	}
}

func (p *project) findAll(t *testing.T, file, name string) []string {
	t.Helper()
	found := findText(p.documents(t, file), name)
	if len(found) == 0 {
		t.Fatalf("%s has no %s", file, name)
	}
	return found
}

func (p *project) find1(t *testing.T, file, name string) string {
	t.Helper()
	found := p.findAll(t, file, name)
	if len(found) > 1 {
		t.Fatalf("%s has %d of %s", file, len(found), name)
	}
	return found[0]
}
