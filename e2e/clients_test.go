//go:build clients

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rules "github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/docs"
)

// sdk is a client in another language, which scripts/clients has installed in build/clients.
type sdk struct{ readme, fence, moreFence, suffix, interpreter string }

var sdks = []sdk{
	{"../clients/python/README.md", "python", "python", ".py", "python3"},
	{"../clients/typescript/README.md", "js", "ts", ".mjs", "node"},
}

// onEachSDK runs a test for each client.
func onEachSDK(t *testing.T, test func(t *testing.T, s sdk)) {
	t.Helper()
	t.Parallel()
	for _, s := range sdks {
		t.Run(s.interpreter, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// programsIn returns a document's code blocks in a language.
func programsIn(t *testing.T, document, fence string) (programs []string) {
	t.Helper()
	data, err := os.ReadFile(document)
	must(t, err)
	for _, m := range regexp.MustCompile("(?ms)^```"+fence+"\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
		programs = append(programs, m[1])
	}
	return programs
}

// workshop returns a directory for programs, and the environment in which they find the
// clients.
func workshop(t *testing.T, url string, k key) (dir string, variables []string) {
	t.Helper()
	dir = t.TempDir()
	installed, err := filepath.Abs("../build/clients")
	must(t, err)
	must(t, os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(dir, "node_modules")))
	sdk, err := filepath.Abs("../client")
	must(t, err)
	module := "module program\n\ngo 1.24\n\nrequire github.com/petcat-api/petcat/client v0.0.0\n\n" +
		"replace github.com/petcat-api/petcat/client => " + strconv.Quote(sdk) + "\n"
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o600))
	path := filepath.Join(installed, "python", "bin") + string(filepath.ListSeparator) + os.Getenv("PATH")
	return dir, append(os.Environ(), "PETCAT_URL="+url, "PETCAT_API_KEY="+k.Key, "PATH="+path, "PYTHONDONTWRITEBYTECODE=1")
}

// program returns a command that runs a program in the client's language.
func (s sdk) program(t *testing.T, url string, k key, code string, args ...string) *exec.Cmd {
	t.Helper()
	dir, variables := workshop(t, url, k)
	file := filepath.Join(dir, "program"+s.suffix)
	must(t, os.WriteFile(file, []byte(code), 0o600))
	cmd := exec.Command("env", append([]string{s.interpreter, file}, args...)...) // finds it in the PATH of variables
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, variables, diesWithTest()
	return cmd
}

// createdLine matches the line that a program prints for a new category.
var createdLine = regexp.MustCompile(`(?m)^(\d+) (.*)$`)

// throughRestarts runs a program, kills its server the given number of times, and checks that
// exactly the categories that the program prints were created.
func (s sdk) throughRestarts(
	t *testing.T, kills int, plan []string, want int, code string, args ...string,
) (logs string) {
	t.Helper()
	place := directory(t)
	k, watcher := newKey(t, place, "acme", plan...), newKey(t, place, "watcher", unlimited...)
	n := serve(t, place)
	front := newForwarder(t, n)
	done := make(chan outcome)
	cmd := s.program(t, front.url(), k, code, args...)
	go func() { done <- finish(t, cmd) }()
	for kill := range kills {
		eventually(t, "more categories exist", func() bool {
			return len(n.categories(watcher.Key)) >= (kill+1)*want/(kills+5)
		})
		n.kill()
		logs += n.log.String()
		n = serve(t, place)
		front.behind.Store(n)
	}
	o := <-done
	if o.code != exitDone {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	printed := map[string]string{}
	for _, m := range createdLine.FindAllStringSubmatch(o.stdout, want) {
		printed[m[1]] = m[2]
	}
	created := map[string]string{}
	for _, c := range n.categories(watcher.Key) {
		created[fmt.Sprint(c.ID)] = c.Name
	}
	if diff := cmp.Diff(created, printed); diff != "" || len(created) != want {
		t.Errorf("%d categories exist, want %d (-created +printed):\n%s%s", len(created), want, diff, o.stderr)
	}
	return logs + n.log.String()
}

// TestClientsFirstProgram: the first program of each README creates 100 categories on a Free
// key, each once and without a 429, although the server is killed. It waits for the next minute.
func TestClientsFirstProgram(t *testing.T) {
	onEachSDK(t, func(t *testing.T, s sdk) {
		logs := s.throughRestarts(t, 1, []string{"free"}, 100, programsIn(t, s.readme, s.fence)[0])
		if strings.Contains(logs, `"status":429`) {
			t.Error("there was a 429")
		}
	})
}

// TestClientsInstall: pip and npm install the packages that a server has, and the clients work.
func TestClientsInstall(t *testing.T) {
	t.Parallel()
	n := serve(t, directory(t))
	k := n.newKey("reader", unlimited...)
	installed, err := filepath.Abs("../build/clients")
	must(t, err)
	packages := n.api + "/docs/clients/"
	pip := filepath.Join(installed, "python", "bin", "pip")
	for _, c := range []struct{ install, run string }{
		{pip + " install --quiet --no-index --no-deps --target . " + packages + "petcat-1.0.0-py3-none-any.whl",
			`PYTHONPATH=. python3 -c 'import petcat; print(petcat.__file__, petcat.Petcat().categories.create("x").id)'`},
		{"npm install --silent --no-audit --no-fund " + packages + "petcat-1.0.0.tgz",
			`node -e 'new (require("petcat").Petcat)().categories.create({ name: "x" }).then((x) => console.log(process.cwd(), x.id))'`},
	} {
		_, variables := workshop(t, n.api, k)
		dir, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		cmd := exec.Command("sh", "-ec", c.install+"\n"+c.run)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, variables, diesWithTest()
		if o := finish(t, cmd); o.code != exitDone || !strings.HasPrefix(o.stdout, dir) {
			t.Errorf("%s\nexit code %d: %s%s", c.install, o.code, o.stdout, o.stderr)
		}
	}
}

// TestClientsRestarts: concurrent calls of one client succeed although the server is killed.
func TestClientsRestarts(t *testing.T) {
	onEachSDK(t, func(t *testing.T, s sdk) {
		code, err := os.ReadFile("testdata/clients/many" + s.suffix)
		must(t, err)
		s.throughRestarts(t, 2, unlimited, 4*40, string(code), "4", "40")
	})
}

// TestClientsPrograms: the other programs of the READMEs run unchanged.
func TestClientsPrograms(t *testing.T) {
	onEachSDK(t, func(t *testing.T, s sdk) {
		n := serve(t, directory(t))
		k := n.newKey("reader", unlimited...)
		programs := programsIn(t, s.readme, s.moreFence)
		if s.moreFence == s.fence {
			programs = programs[1:]
		}
		for _, code := range programs {
			if o := finish(t, s.program(t, n.api, k, code)); o.code != exitDone {
				t.Errorf("%s\nexit code %d: %s%s", code, o.code, o.stdout, o.stderr)
			}
		}
		if all := n.categories(k.Key); len(all) != 0 {
			t.Errorf("these categories are left: %v", all)
		}
	})
}

// namedProgram is a code block in a guide that begins with its file name.
var namedProgram = regexp.MustCompile("(?ms)^```(?:python|js|go)\n((?:#|//) (\\S+)\n.*?)^```$")

// TestClientsGuides runs the programs in the guides.
func TestClientsGuides(t *testing.T) {
	t.Parallel()
	n := serve(t, directory(t))
	k := n.newKey("reader", unlimited...)
	dir, variables := workshop(t, n.api, k)
	followed := 0
	for _, guide := range docs.Guides() {
		for _, m := range namedProgram.FindAllStringSubmatch(guide.Text, -1) {
			must(t, os.WriteFile(filepath.Join(dir, m[2]), []byte(m[1]), 0o600))
		}
		for _, x := range examplesIn(guide.Text) {
			shown := [][]string{{"", x.text, ""}}
			if x.kind == "console" {
				shown = shownCommand.FindAllStringSubmatch(x.text, -1)
			}
			for _, m := range shown {
				if !regexp.MustCompile(`python3|node|go run|cat > categories\.csv`).MatchString(m[1]) {
					continue
				}
				cmd := exec.Command("sh", "-ec", m[1])
				cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, variables, diesWithTest()
				o := finish(t, cmd)
				if o.code != exitDone {
					t.Errorf("%s\nexit code %d: %s%s", m[1], o.code, o.stdout, o.stderr)
				}
				if x.kind == "console" {
					wantShown(t, guide.Name, m[2], o.stdout)
				}
				followed++
			}
		}
	}
	if followed < 3 {
		t.Errorf("only %d commands were run", followed)
	}
}

// TestClientsManagement: the program in docs/operations.md signs a customer up through the
// management API.
func TestClientsManagement(t *testing.T) {
	t.Parallel()
	n := serve(t, directory(t))
	ci := petcatJSON[struct{ Token string }](t, n.place, "operator", "token", "create", "ci", "--role", "admin")
	token := ci.Token
	text, err := os.ReadFile("../docs/operations.md")
	must(t, err)
	m := namedProgram.FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("docs/operations.md shows no program")
	}
	file := filepath.Join(t.TempDir(), m[2])
	must(t, os.WriteFile(file, []byte(m[1]), 0o600))
	cmd := exec.Command("python3", file)
	cmd.Env = append(os.Environ(), "PETCAT_URL="+n.api, "PETCAT_ADMIN_URL="+n.admin, "PETCAT_ADMIN_TOKEN="+token)
	cmd.SysProcAttr = diesWithTest()
	o := finish(t, cmd)
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	if o.code != exitDone || len(lines) != 4 || lines[0] != "[]" || lines[2] != "300" || lines[3] != "revoked" {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
}

// serveExamples starts a service with the resources that the examples of the document name.
func serveExamples(t *testing.T) (*node, key) {
	t.Helper()
	n := serve(t, directory(t))
	k := n.newKey("reader", unlimited...)
	for _, name := range []string{"Dogs", "Cats", "Rabbits", "Ferrets"} {
		n.create(k.Key, name).want(t, http.StatusCreated)
	}
	for range 2 {
		n.do(http.MethodPost, "/v1/pets", `{"name":"Rex","category_id":1}`, by(k.Key)).want(t, http.StatusCreated)
	}
	return n, k
}

// TestClientsPostman: with a new account's key, the Postman collection runs without a failed request, and
// deletes its categories.
func TestClientsPostman(t *testing.T) {
	t.Parallel()
	n := serve(t, directory(t))
	k := n.newKey("reader", "free")
	cmd := exec.Command("node", "../tools/newman/node_modules/newman/bin/newman.js", "run", n.api+"/postman.json",
		"--env-var", "api_key="+k.Key, "--reporters", "cli", "--color", "off")
	o := finish(t, cmd)
	if o.code != exitDone || strings.Count(o.stdout, "↳") != len(rules.Operations()) {
		t.Errorf("newman: exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	other := n.newKey("other", "free")
	if left := n.categories(other.Key); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// TestClientsSamples: the samples that the reference page shows for each operation run.
func TestClientsSamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../internal/reference/page/samples.json")
	must(t, err)
	var samples map[string]map[string]string // by operation and language
	must(t, json.Unmarshal(text, &samples))
	for _, l := range []struct{ language, file, block, command string }{
		{"Python", "samples.py", "%s\n", "python3 samples.py"},
		{"TypeScript", "samples.mjs", "{\n%s\n}\n", "node samples.mjs"}, // samples share names
		{"Go", "samples.go", "{\n%s\n}\n", "go run samples.go"},
	} {
		t.Run(l.language, func(t *testing.T) {
			t.Parallel()
			n, k := serveExamples(t)
			code := samples["start"][l.language]
			for _, operation := range rules.Operations() {
				sample := samples[string(operation.ID)][l.language]
				if sample == "" {
					t.Errorf("%s has no sample", operation.ID)
				}
				code += fmt.Sprintf(l.block, sample)
			}
			if l.language == "Go" {
				code = goProgram(code)
			}
			dir, variables := workshop(t, n.api, k)
			must(t, os.WriteFile(filepath.Join(dir, l.file), []byte(code), 0o600))
			cmd := exec.Command("sh", "-c", "exec "+l.command)
			cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, variables, diesWithTest()
			if o := finish(t, cmd); o.code != exitDone {
				t.Errorf("%s\nexit code %d: %s%s", code, o.code, o.stdout, o.stderr)
			}
		})
	}
}

// goProgram returns a program that runs samples, handles their errors and uses their results.
func goProgram(samples string) string {
	results := regexp.MustCompile(`(?m)^(\w+), _, err := .*`)
	samples = results.ReplaceAllString(samples, "$0\n_ = $1\ncheck(err)")
	samples = strings.ReplaceAll(samples, "// handle err", "check(err)")
	return `package main

import (
	"context"
	"fmt"

	petcat "github.com/petcat-api/petcat/client"
)

var ctx = context.Background()

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
` + samples + "}\n"
}
