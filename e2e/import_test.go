package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// categoryCommand returns a petcat category command, which uses the API.
func categoryCommand(url string, k key, args ...string) *exec.Cmd {
	cmd := command(append([]string{"category"}, args...)...)
	cmd.Env = append(cmd.Env, "PETCAT_URL="+url, "PETCAT_API_KEY="+k.Key)
	return cmd
}

// runCategory runs petcat category, which must exit with a code.
func (n *node) runCategory(k key, code int, args ...string) outcome {
	n.t.Helper()
	o := finish(n.t, categoryCommand(n.api, k, args...))
	if o.code != code {
		n.t.Fatalf("petcat category %q exited with %d, want %d: %s%s", args, o.code, code, o.stdout, o.stderr)
	}
	return o
}

func writeFile(t testing.TB, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestCategoryCommands: the commands create, show, change and delete a category through the API.
func TestCategoryCommands(t *testing.T) {
	t.Parallel()
	n := serve(t, directory(t))
	k := n.newKey("acme", unlimited...)
	n.runCategory(k, exitDone, "create", "Ferrets", "--description", "Domestic ferrets")
	n.runCategory(k, exitDone, "update", "1", "--name", "Polecats")
	var c category
	must(t, json.Unmarshal([]byte(n.runCategory(k, exitDone, "get", "1", "--json").stdout), &c))
	if c != (category{1, "Polecats", "Domestic ferrets"}) {
		t.Errorf("category: %+v", c)
	}
	n.runCategory(k, exitDone, "delete", "1", "--yes")
	if o := n.runCategory(k, exitFailed, "get", "1"); !strings.Contains(o.stderr, "404 not_found") {
		t.Errorf("deleted category: %q", o.stderr)
	}
	if o := n.runCategory(key{Key: "wrong"}, exitFailed, "list"); !strings.Contains(o.stderr, "401 invalid_api_key") {
		t.Errorf("wrong key: %q", o.stderr)
	}
}

// TestImport: bad rows are reported with their lines and skipped, importing the same file again does not
// create duplicates, and exports can be imported elsewhere.
func TestImport(t *testing.T) {
	t.Parallel()
	n := serve(t, directory(t))
	k := n.newKey("acme", unlimited...)
	const rows = "Ferrets,\"Domestic\nferrets\"\n,nameless\nTwins,\nTwins,\na,b,c\n"
	csv := writeFile(t, "pets.csv", "name,description\n"+rows)
	for range 2 {
		o := n.runCategory(k, exitData, "import", csv)
		for _, line := range []string{csv + ":4:", csv + ":7:"} {
			if !strings.Contains(o.stderr, line) {
				t.Errorf("%q lacks %s", o.stderr, line)
			}
		}
		if diff := cmp.Diff([]string{"Ferrets: Domestic\nferrets", "Twins: ", "Twins: "}, n.texts(k)); diff != "" {
			t.Errorf("list (-want +got):\n%s", diff)
		}
	}
	for _, format := range []string{"csv", "json", "jsonl"} {
		file := filepath.Join(t.TempDir(), "all."+format)
		n.runCategory(k, exitDone, "export", file)
		other := serve(t, directory(t))
		to := other.newKey("acme", unlimited...)
		other.runCategory(to, exitDone, "import", file)
		if diff := cmp.Diff(n.texts(k), other.texts(to)); diff != "" {
			t.Errorf("%s (-exported +imported):\n%s", format, diff)
		}
		other.stop()
	}
}

// texts returns the sorted texts of all categories, without ids.
func (n *node) texts(k key) (all []string) {
	n.t.Helper()
	for _, c := range n.categories(k.Key) {
		all = append(all, c.Name+": "+c.Description)
	}
	slices.Sort(all)
	return all
}

// TestInterruptedImport: an import is interrupted by Ctrl-C, kill -9 or a dead server. After running the
// same command again, each row exists once.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	const rows = 600
	place := directory(t)
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	front := newForwarder(t, n)
	var text strings.Builder
	text.WriteString("name\n")
	for i := range rows {
		fmt.Fprintf(&text, "row %d\n", i)
	}
	csv := writeFile(t, "pets.csv", text.String())
	for i, end := range []os.Signal{syscall.SIGINT, os.Kill} {
		cmd := categoryCommand(front.url(), k, "import", csv)
		must(t, cmd.Start())
		eventually(t, "rows are created", func() bool { return len(n.categories(k.Key)) > (i+1)*100 })
		must(t, cmd.Process.Signal(end))
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); end == syscall.SIGINT && code != exitInterrupted && code != exitDone {
			t.Errorf("interrupted import: exit code %d", code)
		}
		// Wait until the requests of the dead import are complete.
		n.stop()
		n = serve(t, place)
		front.behind.Store(n)
	}
	if o := finish(t, categoryCommand(front.url(), k, "import", csv)); o.code != exitDone {
		t.Errorf("last import: exit code %d: %s", o.code, o.stderr)
	}
	if left, err := os.ReadDir(filepath.Dir(csv)); err != nil || len(left) != 1 {
		t.Errorf("the imports left %v beside their file: %v", left, err)
	}
	names := map[string]int{}
	for _, c := range n.categories(k.Key) {
		names[c.Name]++
	}
	for i := range rows {
		if name := fmt.Sprintf("row %d", i); names[name] != 1 {
			t.Errorf("%s exists %d times", name, names[name])
		}
	}
	n.stop()
}
