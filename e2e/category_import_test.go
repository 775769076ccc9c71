package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// imported is what petcat category import prints with --json.
type imported struct {
	Complete                 bool
	Created, Existing, Found int
	Refused                  []struct {
		Line          int
		Code, Message string
	}
}

// imports imports a file, and returns the exit code and the report.
func (c *apiCaller) imports(args ...string) (code int, r imported, stderr string) {
	c.t.Helper()
	code, stdout, stderr := c.category(append([]string{"import", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		c.t.Fatalf("exit code %d, %q, %q: %v", code, stdout, stderr, err)
	}
	return code, r, stderr
}

func writeText(t testing.TB, file, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), file)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestCategoryImport: bad rows are reported with their lines and stop nothing, and the
// same file again creates nothing.
func TestCategoryImport(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	c := &apiCaller{t, s.api, newCaller(t, data)}
	csv := writeText(t, "pets.csv", "id,name,description\n7,Ferrets,\"Domestic\nferrets\"\n,,nameless\n,Twins,\n,Twins,\n,a,b,c\n")
	code, stdout, stderr := c.category("import", csv)
	if code != exitData || !strings.HasPrefix(stdout, csv+": 3 rows created, 0 existed already, 2 refused.\nIt took ") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
	for _, line := range []string{
		csv + ":4: invalid_field: name must contain something besides white space\n",
		csv + ":7: invalid_row: the first line has 3 fields, and this row 4\n",
		"petcat: 2 rows of " + csv + " were refused; correct them, and run the same command again: it creates nothing twice\n",
	} {
		if !strings.Contains(stderr, line) {
			t.Errorf("%q is not in %q", line, stderr)
		}
	}
	code, r, _ := c.imports(csv)
	if code != exitData || !r.Complete || r.Created != 0 || r.Existing != 3 || len(r.Refused) != 2 || r.Refused[0].Line != 4 || r.Refused[1].Code != "invalid_row" {
		t.Errorf("the same file again: exit code %d, %+v", code, r)
	}
	must(t, os.WriteFile(csv, []byte("name,description\nNew,\nFerrets,\"Domestic\nferrets\"\nTwins,\nTwins,\n"), 0o600))
	if code, r, stderr = c.imports(csv); code != exitDone || stderr != "" || r.Created != 1 || r.Existing != 3 {
		t.Errorf("the corrected file: exit code %d, %+v", code, r)
	}
	var names []string
	for _, listed := range s.categories(c.key) {
		names = append(names, listed.Name)
	}
	if got := strings.Join(names, " "); strings.Count(got, "Ferrets") != 1 || strings.Count(got, "Twins") != 2 || strings.Count(got, "New") != 1 || len(names) != 4 {
		t.Errorf("there are %q", names)
	}

	// A file that cannot be read to its end sends nothing.
	c.fails(exitData, `the column "title" is unknown`, "import", writeText(t, "a.csv", "title\nCats\n"))
	c.fails(exitData, "the file ends in the middle of the JSON array", "import", writeText(t, "a.json", `[{"name":"Cats"},`))
	if n := len(s.categories(c.key)); n != 4 {
		t.Errorf("%d categories exist", n)
	}
	// Of stdin there is a journal, too, if somebody names it.
	for _, want := range []imported{{Complete: true, Created: 1}, {Complete: true, Existing: 1}} {
		var out strings.Builder
		args := []string{"category", "import", "-", "--format", "jsonl", "--json", "--journal", csv + ".other"}
		if code := execute(t, args, c.variables(), strings.NewReader(`{"name":"Cats"}`), &out, os.Stderr); code != exitDone {
			t.Errorf("of stdin: exit code %d", code)
		}
		var r imported
		must(t, json.Unmarshal([]byte(out.String()), &r))
		if r.Refused = nil; !cmp.Equal(r, want) {
			t.Errorf("of stdin: %+v, want %+v", r, want)
		}
	}
}

// TestCategoryImportRefuses: what all rows would get ends it at once, before there is a
// journal, and the journal of another service or key is not gone on with.
func TestCategoryImportRefuses(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	c := &apiCaller{t, s.api, newCaller(t, data)}
	csv := writeText(t, "pets.csv", "name\nFerrets\n")
	(&apiCaller{t, s.api, wrongKey(t)}).fails(exitFailed, "401 invalid_api_key", "import", csv)
	if _, err := os.Stat(csv + ".petcat-journal"); err == nil {
		t.Error("a wrong key made a journal")
	}
	var readOnly struct{ Key string }
	must(t, json.Unmarshal([]byte(petcatDoes(t, data, "key", "create", "caller", "--read-only", "--json")), &readOnly))
	if code, r, stderr := (&apiCaller{t, s.api, readOnly.Key}).imports(csv, "--journal", csv+".read-only"); code != exitFailed || r.Complete || r.Created != 0 || !strings.Contains(stderr, "403 forbidden") {
		t.Errorf("with a read-only key: exit code %d, %+v, %s", code, r, stderr)
	}
	c.prints("import", csv)

	_, rotated := issueKey(t, data, "caller")
	next := &apiCaller{t, s.api, rotated}
	next.fails(exitUsage, "belongs to an import with another key; use that key, name another journal with --journal, or pass --same-account", "import", csv)
	other := serve(t, filepath.Join(t.TempDir(), "other"))
	moved := &apiCaller{t, other.api, newCaller(t, other.data)}
	moved.fails(exitUsage, "belongs to an import into another service: "+s.api+", not "+other.api+"; give that one with --url", "import", csv)
	next.prints("import", csv, "--same-account")
	next.prints("import", csv)
	if n := len(s.categories(c.key)); n != 1 {
		t.Errorf("%d categories exist", n)
	}
}

// TestCategoryImportWaitsForADay: when the quota of the day is used up, it says when to go
// on, and then does.
func TestCategoryImportWaitsForADay(t *testing.T) {
	t.Parallel()
	awaitRoomInDay(t, time.Minute)
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	openAccount(t, data, "small", "enterprise", "--per-minute", "1000", "--per-day", "20")
	_, key := issueKey(t, data, "small")
	c := &apiCaller{t, s.api, key}
	csv := writeText(t, "pets.csv", "name\n"+manyNames(50))
	code, r, stderr := c.imports(csv)
	if code != exitTryLater || r.Complete || r.Created != 20 || !strings.Contains(stderr, "429 daily_quota_exceeded") || !strings.Contains(stderr, "try again in ") || !strings.Contains(stderr, "the same command continues") {
		t.Errorf("exit code %d, %+v, %s", code, r, stderr)
	}
	petcatDoes(t, data, "account", "set-plan", "small", "--plan", "enterprise", "--per-minute", "1000", "--per-day", "1000")
	eventually(t, 5*time.Second, "the new plan holds", func() bool {
		code, r, stderr = c.imports(csv)
		return code != exitTryLater
	})
	if code != exitDone || !r.Complete || r.Created != 30 || r.Existing != 20 || r.Found != 0 {
		t.Errorf("exit code %d, %+v, %s", code, r, stderr)
	}
}

// manyNames returns a line for each of n names.
func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "category %d\n", i)
	}
	return b.String()
}

// TestCategoryExport: what is exported from one service is imported into another, in each
// format.
func TestCategoryExport(t *testing.T) {
	t.Parallel()
	data, dir := filepath.Join(t.TempDir(), "data"), t.TempDir()
	s := serve(t, data)
	c := &apiCaller{t, s.api, newCaller(t, data)}
	if got := c.prints("export"); got != "id,name,description\n" {
		t.Errorf("no categories are exported as %q", got)
	}
	c.prints("import", writeText(t, "pets.jsonl", `{"name":"\"a\", <b>","description":"lines\nand \u00e9"}`+"\n"+`{"name":"=c;d"}`+"\n"))
	c.prints("import", writeText(t, "more.csv", "name\n"+manyNames(1500)))
	var want []describedCategory
	c.document(&want, "list")
	for _, format := range []string{"csv", "json", "jsonl"} {
		file := filepath.Join(dir, "all."+format)
		if got := c.prints("export", file); got != "1,502 categories exported to "+file+".\n" {
			t.Errorf("it says %q", got)
		}
		written, err := os.ReadFile(file)
		must(t, err)
		if got := c.prints("export", "--format", format); got != string(written) {
			t.Errorf("%s: stdout gets something else than the file", format)
		}
		other := serve(t, filepath.Join(t.TempDir(), format))
		to := &apiCaller{t, other.api, newCaller(t, other.data)}
		to.prints("import", file)
		var got []describedCategory
		to.document(&got, "list")
		if diff := cmp.Diff(sayings(want), sayings(got)); diff != "" {
			t.Errorf("%s (-exported +imported):\n%s", format, diff)
		}
	}
	c.fails(exitUsage, "already exists", "export", filepath.Join(dir, "all.csv"))
	c.prints("export", filepath.Join(dir, "all.csv"), "--force", "--quiet")
}

// sayings returns what categories say, whatever their ids are.
func sayings(list []describedCategory) (all []string) {
	for _, c := range list {
		text := c.Name
		if c.Description != nil {
			text += ": " + *c.Description
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}
