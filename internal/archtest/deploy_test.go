package archtest

import (
	"errors"
	"io"
	"net"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"petcat/internal/config"
)

// TestDeployParses: JSON is YAML, too.
func TestDeployParses(t *testing.T) {
	p := loadProject(t)
	for _, file := range p.matching(t, `^deploy/.*\.(ya?ml|json)$`) {
		for dec := yaml.NewDecoder(strings.NewReader(p.read(t, file))); ; {
			var document map[string]any
			if err := dec.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
}

// fallback returns the default of a setting.
func fallback(t *testing.T, env string) string {
	t.Helper()
	for _, s := range config.Table() {
		if s.Env == env && s.Default != "" {
			return s.Default
		}
	}
	t.Fatalf("%s has no default in the table of settings", env)
	return ""
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// stopTime is what a node may need to stop: the time for requests in flight,
// and for closing.
func (p *project) stopTime(t *testing.T) time.Duration {
	t.Helper()
	drain, err := time.ParseDuration(fallback(t, "PETCAT_SHUTDOWN_TIMEOUT"))
	if err != nil {
		t.Fatal(err)
	}
	return drain + time.Duration(number(t, submatch(t, p.text(t, sources), `\bcloseTimeout = (\d+) \* time\.Second`)))*time.Second
}

// TestUnitKnowsTheProgram compares the systemd unit with the program that it
// runs, and both with what operators are told.
func TestUnitKnowsTheProgram(t *testing.T) {
	p := loadProject(t)
	unit, program := p.read(t, "deploy/systemd/petcat.service"), p.text(t, sources)
	want := []string{submatch(t, program, `\bexitUsage += (\d+)`), submatch(t, program, `\bexitConfig += (\d+)`)}
	if got := strings.Fields(submatch(t, unit, `(?m)^RestartPreventExitStatus=(.*)$`)); !slices.Equal(got, want) {
		t.Errorf("the unit is not restarted after %v, want exitUsage and exitConfig, %v", got, want)
	}
	if told := submatches(p.read(t, "docs/operations.md"), `(?m)^\| (\d+) \|.*\| not restart \|$`); !slices.Equal(told, want) {
		t.Errorf("docs/operations.md tells supervisors not to restart after %v, want %v", told, want)
	}
	if stop, err := time.ParseDuration(submatch(t, unit, `(?m)^TimeoutStopSec=(.*)$`)); err != nil || stop <= p.stopTime(t) {
		t.Errorf("TimeoutStopSec is %s (%v), but stopping may take %s", stop, err, p.stopTime(t))
	}
}

// TestContainersKnowTheProgram compares the ports and the timeout of the other
// deployments with the defaults of the program.
func TestContainersKnowTheProgram(t *testing.T) {
	p := loadProject(t)
	port := func(env string) string {
		_, port, err := net.SplitHostPort(fallback(t, env))
		if err != nil {
			t.Fatal(err)
		}
		return port
	}
	api, admin, stop := port("PETCAT_LISTEN"), port("PETCAT_ADMIN_LISTEN"), p.stopTime(t)
	for file, wants := range map[string][]string{
		"deploy/kubernetes/configmap.yaml": {`PETCAT_ADMIN_LISTEN: ":` + admin + `"`},
		"deploy/compose.yaml":              {`PETCAT_ADMIN_LISTEN: ":` + admin + `"`, `PETCAT_LISTEN: ":` + api + `"`},
		"deploy/compose/haproxy.cfg":       {"port " + admin, "petcat-1:" + api, "petcat-2:" + api, "petcat-3:" + api},
		"deploy/proxy/haproxy.cfg":         {"port " + admin, "127.0.0.1:" + api},
		"deploy/proxy/nginx.conf":          {"server 127.0.0.1:" + api},
		"deploy/proxy/Caddyfile":           {"reverse_proxy 127.0.0.1:" + api, "health_port " + admin},
		"deploy/docker/Dockerfile":         {"EXPOSE " + api + " " + admin + "\n"},
	} {
		for _, want := range wants {
			if !strings.Contains(p.read(t, file), want) {
				t.Errorf("%s does not say %q", file, want)
			}
		}
	}

	pods := p.read(t, "deploy/kubernetes/deployment.yaml")
	if diff := cmp.Diff([]string{api, admin}, submatches(pods, `containerPort: (\d+)`)); diff != "" {
		t.Errorf("ports of the pods (-want +got):\n%s", diff)
	}
	if got := submatches(pods, `\bport: (\w+)`); !slices.Equal(got, []string{"admin", "admin", "admin"}) {
		t.Errorf("the three probes ask %q, want the admin port", got)
	}
	before := number(t, submatch(t, pods, `preStop:\s+sleep: \{seconds: (\d+)\}`))
	timeout := number(t, submatch(t, pods, `terminationGracePeriodSeconds: (\d+)`))
	if time.Duration(timeout-before)*time.Second <= stop {
		t.Errorf("pods are killed after %d s, %d of them before they stop, but stopping may take %s", timeout, before, stop)
	}
	grace := submatches(p.read(t, "deploy/compose.yaml"), `stop_grace_period: (\S+)`)
	for _, value := range grace {
		if timeout, err := time.ParseDuration(value); err != nil || timeout <= stop {
			t.Errorf("deploy/compose.yaml: stop_grace_period is %s, but stopping may take %s", value, stop)
		}
	}
	if len(grace) == 0 {
		t.Error("deploy/compose.yaml has no stop_grace_period")
	}
	for _, file := range p.matching(t, `^deploy/.*\.example\.yaml$`) {
		for _, address := range submatches(p.read(t, file), `(?m)^\s*(?:database|limiter): (.*)$`) {
			if !strings.Contains(address, ":CHANGE-ME@") {
				t.Errorf("%s holds an address whose password is not CHANGE-ME", file)
			}
		}
	}
}

// TestImageIsTheProgram: it is built as make build does, from all that it needs,
// and without the secrets of the compose file.
func TestImageIsTheProgram(t *testing.T) {
	p := loadProject(t)
	for _, file := range []string{"deploy/docker/Dockerfile", "Makefile"} {
		submatch(t, p.read(t, file), `(CGO_ENABLED=0 go build -trimpath -ldflags .-s -w -X main\.version=)`)
	}
	submatch(t, p.read(t, "tools/release/program.go"), `"(-s -w -X main\.version=)"`)
	ignored := strings.Fields(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(p.read(t, "deploy/docker/Dockerfile.dockerignore"), ""))
	for _, name := range []string{".git", "data", "deploy"} {
		if !isIgnored(ignored, name+"/file") {
			t.Errorf("%s is in the image's context", name)
		}
	}
	needed := []string{"go.mod", "go.sum"}
	for _, dep := range append(p.find(t, binary).Deps, binary) {
		pkg := p.find(t, dep)
		for _, file := range slices.Concat(pkg.GoFiles, pkg.EmbedFiles) {
			if dir, is := strings.CutPrefix(dep, module); is && !pkg.Standard {
				needed = append(needed, strings.TrimPrefix(path.Join(dir, file), "/"))
			}
		}
	}
	for _, file := range needed {
		if isIgnored(ignored, file) {
			t.Errorf("%s is kept out of the image's context, and the program is made of it", file)
		}
	}
}

// isIgnored reports whether docker leaves a file out: a pattern names it, a folder above
// it, or, behind **/, its name.
func isIgnored(patterns []string, file string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		of := file
		name, anywhere := strings.CutPrefix(pattern, "**/")
		if anywhere {
			of = path.Base(file)
		}
		match, err := path.Match(name, of)
		return match || err != nil || strings.HasPrefix(file, pattern+"/")
	})
}
