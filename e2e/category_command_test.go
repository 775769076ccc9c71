package e2e

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exitData and exitInterrupted are codes of petcat category alone.
const (
	exitData        = 65
	exitInterrupted = 130
)

// apiCaller calls a service by the commands of petcat category.
type apiCaller struct {
	t        testing.TB
	url, key string
}

// variables are the environment of its commands.
func (c *apiCaller) variables() []string {
	return []string{"PETCAT_URL=" + c.url, "PETCAT_API_KEY=" + c.key}
}

// category runs petcat category off a terminal.
func (c *apiCaller) category(args ...string) (code int, stdout, stderr string) {
	c.t.Helper()
	var out, errs strings.Builder
	code = execute(c.t, append([]string{"category"}, args...), c.variables(), nil, &out, &errs)
	return code, out.String(), errs.String()
}

// prints is category for what has to succeed.
func (c *apiCaller) prints(args ...string) (stdout string) {
	c.t.Helper()
	code, stdout, stderr := c.category(args...)
	if code != exitDone {
		c.t.Fatalf("petcat category %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// fails is category for what has to fail, and to say something of it.
func (c *apiCaller) fails(want int, says string, args ...string) {
	c.t.Helper()
	code, stdout, stderr := c.category(args...)
	if code != want || stdout != "" || !strings.HasPrefix(stderr, "petcat: ") || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
		c.t.Errorf("petcat category %s: exit code %d, %q, %q; want %d and %q", strings.Join(args, " "), code, stdout, stderr, want, says)
	}
}

// document is what a command prints with --json.
func (c *apiCaller) document(to any, args ...string) {
	c.t.Helper()
	must(c.t, json.Unmarshal([]byte(c.prints(append(args, "--json")...)), to))
}

// describedCategory is a category as the command line prints it.
type describedCategory struct {
	ID          int64
	Name        string
	Description *string
	ETag        string
}

func TestCategoryCommands(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	c := &apiCaller{t, s.api, newCaller(t, data)}
	if got := c.prints("list"); got != "There are no categories; create one with: petcat category create NAME\n" {
		t.Errorf("of no categories it says %q", got)
	}
	if got := c.prints("list", "--json"); got != "[]\n" {
		t.Errorf("no categories are %q", got)
	}
	want := "id           1\nname         Ferrets\ndescription  Domestic ferrets\n"
	for range 2 { // a create with a name of its own is one create
		got := c.prints("create", "Ferrets", "--description", "Domestic ferrets", "--idempotency-key", "mine")
		if diff := cmp.Diff(want, withoutETag(got)); diff != "" {
			t.Errorf("create (-want +got):\n%s", diff)
		}
	}
	var created, seen describedCategory
	c.document(&created, "create", "a\u202eb")
	c.document(&seen, "get", "2", "--url", s.api+"/v1/")
	if created.ID != 2 || seen.Name != "a\u202eb" || seen.Description != nil || seen.ETag == "" {
		t.Errorf("%+v was created, %+v is there", created, seen)
	}
	c.document(&seen, "update", "2", "--name", "b", "--description", "B", "--if-match", seen.ETag)
	if seen.Name != "b" || seen.Description == nil || *seen.Description != "B" {
		t.Errorf("it was changed to %+v", seen)
	}
	c.fails(exitFailed, "412 precondition_failed", "update", "2", "--name", "c", "--if-match", `"old"`)
	c.document(&seen, "update", "2", "--description", "")
	if seen.Name != "b" || seen.Description != nil {
		t.Errorf("without its description it is %+v", seen)
	}
	if diff := cmp.Diff("ID  NAME     DESCRIPTION\n1   Ferrets  Domestic ferrets\n2   b        \n", c.prints("list")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	var page []describedCategory
	c.document(&page, "list", "--limit", "1")
	if len(page) != 1 || page[0].ID != 1 {
		t.Errorf("the first page is %+v", page)
	}
	c.document(&page, "list", "--after", "1")
	if len(page) != 1 || page[0].ID != 2 {
		t.Errorf("the second page is %+v", page)
	}
	if got := c.prints("delete", "2", "--yes"); got != "Category 2 is deleted.\n" {
		t.Errorf("it was deleted: %q", got)
	}
	c.fails(exitFailed, "404 not_found", "get", "2")
	c.fails(exitFailed, "404 not_found", "delete", "2", "--yes")
	c.fails(exitFailed, "400 invalid_field: name ", "create", " ")

	// Another account may see it, and a key of nobody may not.
	openAccount(t, data, "other", "enterprise", "--per-minute", "2", "--per-day", "1000")
	_, key := issueKey(t, data, "other")
	other := &apiCaller{t, s.api, key}
	other.fails(exitFailed, "403 forbidden", "update", "1", "--name", "c")
	(&apiCaller{t, s.api, wrongKey(t)}).fails(exitFailed, "401 invalid_api_key", "list")
	code, stderr := exitDone, ""
	for n := 0; code == exitDone && n < 10; n++ { // a new minute may begin
		code, _, stderr = other.category("get", "1")
	}
	if code != exitTryLater || !strings.Contains(stderr, "429 rate_limit_exceeded") || !strings.Contains(stderr, "try again in ") {
		t.Errorf("without requests left: exit code %d, %s", code, stderr)
	}
	s.mustStop()
	c.fails(exitTryLater, "no service answers at "+s.api, "list")
}

func withoutETag(text string) string {
	return regexp.MustCompile(`(?m)^etag .*\n`).ReplaceAllString(text, "")
}
