package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rules "github.com/petcat-api/petcat"
)

// TestServe: the first start creates a deployment, responses match the contract, and a restart keeps the
// data.
func TestServe(t *testing.T) {
	t.Parallel()
	onBothDatabases(t, func(t *testing.T, place string) {
		n := serve(t, place)
		const created = "new deployment created"
		if !strings.Contains(n.log.String(), created) {
			t.Errorf("the log lacks %s", created)
		}
		k := n.newKey("acme", unlimited...)
		if list := n.list(k.Key).want(t, http.StatusOK); string(list.body) != "[]" {
			t.Errorf("empty list: %s", list.body)
		}
		body := `{"id":7,"name":"dog","description":"barks"}`
		dog := n.do(http.MethodPost, "/v1/categories", body, by(k.Key)).want(t, http.StatusCreated)
		n.create(k.Key, "cat").want(t, http.StatusCreated)
		n.create(k.Key, "fish").want(t, http.StatusCreated)
		if to := dog.Header.Get("Location"); to != "/v1/categories/1" {
			t.Errorf("Location: %s", to)
		}
		n.do(http.MethodPatch, "/v1/categories/2", `{"name":"kitten"}`, by(k.Key)).want(t, http.StatusOK)
		n.do(http.MethodDelete, "/v1/categories/3", "", by(k.Key)).want(t, http.StatusNoContent)
		want := []category{{1, "dog", "barks"}, {2, "kitten", ""}}
		if diff := cmp.Diff(want, n.fresh(k.Key)); diff != "" {
			t.Errorf("list (-want +got):\n%s", diff)
		}
		list := n.list(k.Key)
		n.list(k.Key, header("If-None-Match", list.Header.Get("ETag"))).want(t, http.StatusNotModified)
		page := n.do(http.MethodGet, "/v1/categories?limit=1", "", by(k.Key)).want(t, http.StatusOK)
		if next := page.Header.Get("Link"); next != `</v1/categories?limit=1&after=1>; rel="next"` {
			t.Errorf("next page: %s", next)
		}
		n.stop()

		n = serve(t, place, "--init=false")
		if strings.Contains(n.log.String(), created) {
			t.Error("the second start created a deployment")
		}
		if diff := cmp.Diff(want, n.fresh(k.Key)); diff != "" {
			t.Errorf("list after the restart (-want +got):\n%s", diff)
		}
		var next category
		n.create(k.Key, "bird").want(t, http.StatusCreated).decode(t, &next)
		if next.ID != 4 {
			t.Errorf("next id: %d", next.ID)
		}
		n.stop()
	})
}

// TestGarbageCollector: the heap of a small node may grow more than by default, unless the operator set
// GOGC.
func TestGarbageCollector(t *testing.T) {
	t.Parallel()
	const percent = "go_gc_gogc_percent"
	n := serve(t, directory(t))
	if got := n.metric(percent); got <= 100 {
		t.Errorf("%s is %v; want more than the default", percent, got)
	}
	place := directory(t)
	cmd := command(serveArguments("serve", place, nil)...)
	cmd.Env = append(cmd.Env, "GOGC=50")
	n = launchCommand(t, place, cmd)
	n.awaitReady()
	if got := n.metric(percent); got != 50 {
		t.Errorf("%s is %v; want GOGC=50", percent, got)
	}
}

// TestEveryStatus causes every status in the OpenAPI document, except those of a slow body, a removed
// operation and a fault. The client checks the form of each response. No document contains the Host.
func TestEveryStatus(t *testing.T) {
	t.Parallel()
	place := directory(t)
	k, small := newKey(t, place, "acme", unlimited...), newKey(t, place, "small", limited("1", "1")...)
	reader := petcatJSON[key](t, place, "key", "create", "acme", "--read-only")
	n := serve(t, place)
	once := header("Idempotency-Key", "once")
	n.create(k.Key, "dog", once).want(t, http.StatusCreated)
	replay := n.create(k.Key, "dog", once).want(t, http.StatusCreated)
	if got := replay.Header.Get("Idempotent-Replayed"); got != "true" {
		t.Errorf("Idempotent-Replayed is %q, want true", got)
	}
	if got := len(n.categories(k.Key)); got != 1 {
		t.Errorf("there are %d categories after a replay, want 1", got)
	}
	n.create(k.Key, "cat").want(t, http.StatusCreated)
	n.do(http.MethodPost, "/v1/pets", `{"name":"Rex","category_id":1}`, by(k.Key)).want(t, http.StatusCreated)
	eventually(t, "the quota is used up", func() bool { return n.list(small.Key).StatusCode != http.StatusOK })

	const categories, first, second = "/v1/categories", "/v1/categories/1", "/v1/categories/2"
	const get, post, put = http.MethodGet, http.MethodPost, http.MethodPut
	const patch, del = http.MethodPatch, http.MethodDelete
	tooLong := `{"name":"` + strings.Repeat("x", 1<<20) + `"}`
	ours := by(k.Key)
	text := func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }
	changed := header("If-Match", `"other"`)
	anything := header("If-None-Match", "*")
	seen := []int{
		http.StatusOK, http.StatusCreated,
		// Those that this test does not cause.
		http.StatusRequestTimeout, http.StatusGone, http.StatusInternalServerError, http.StatusServiceUnavailable,
	}
	for _, tt := range []struct {
		method, path, body string
		changes            []change
		status             int
		code               rules.Code
	}{
		{post, categories, `{"name":"cat"}`, []change{ours, once}, 422, rules.CodeIdempotencyKeyReused},
		{post, categories, `{}`, []change{ours}, 400, rules.CodeMissingField},
		{post, categories, `{"name":7}`, []change{ours}, 400, rules.CodeInvalidField},
		{post, categories, `{"name"`, []change{ours}, 400, rules.CodeMalformedJSON},
		{post, categories, `[]`, []change{ours}, 400, rules.CodeInvalidBody},
		{post, categories, tooLong, []change{ours}, 413, rules.CodeBodyTooLarge},
		{post, categories, "name=dog", []change{ours, text}, 415, rules.CodeUnsupportedMediaType},
		{post, categories, `{"name":"fish"}`, []change{by(reader.Key)}, 403, rules.CodeForbidden},
		{get, categories, "", nil, 401, rules.CodeMissingAPIKey},
		{get, "/v1/no/such/path", "", nil, 401, rules.CodeMissingAPIKey},
		{get, categories, "", []change{by(strings.Repeat("x", 300))}, 401, rules.CodeInvalidAPIKey},
		{get, categories, "", []change{ours, ours}, 401, rules.CodeInvalidAPIKey},
		{get, categories + "?api_key=" + k.Key, "", nil, 401, rules.CodeInvalidAPIKey},
		{get, categories, "", []change{by(small.Key)}, 429, rules.CodeDailyQuotaExceeded},
		{get, categories, "", []change{ours, anything}, 304, ""},
		{get, "/v1/dogs", "", []change{ours}, 404, rules.CodeNotFound},
		{get, "/v1/categories/99", "", []change{ours}, 404, rules.CodeNotFound},
		{put, categories, `{}`, []change{ours}, 405, rules.CodeMethodNotAllowed},
		{patch, first, `{"name":"x"}`, []change{ours, changed}, 412, rules.CodePreconditionFailed},
		{del, first, "", []change{ours}, 409, rules.CodeCategoryInUse},
		{del, second, "", []change{ours}, 204, ""},
		{get, "/nothing", "", nil, 404, rules.CodeNotFound},
		{get, "/metrics", "", nil, 404, rules.CodeNotFound},
		{get, "/readyz", "", nil, 404, rules.CodeNotFound},
	} {
		n.do(tt.method, tt.path, tt.body, tt.changes...).wantError(t, tt.status, tt.code)
		seen = append(seen, tt.status)
	}
	for _, path := range []string{
		"/openapi.json", "/openapi.yaml", "/postman.json", "/llms.txt", "/docs", "/docs/getting-started", "/livez",
	} {
		a := n.do(get, path, "", func(r *http.Request) { r.Host = "evil.example" }).want(t, http.StatusOK)
		if strings.Contains(fmt.Sprint(a.Header, string(a.body)), "evil.example") {
			t.Errorf("%s contains the Host: %v", path, a.Header)
		}
	}
	document := string(n.do(get, "/openapi.json", "").body)
	for _, found := range regexp.MustCompile(`"([2-5]\d\d)":`).FindAllStringSubmatch(document, -1) {
		if status, err := strconv.Atoi(found[1]); err != nil || !slices.Contains(seen, status) {
			t.Errorf("no response has the status %s", found[1])
		}
	}
}

// TestClosedLog: if the reader of the log exits, the server continues, counts the lost writes, and exits
// normally.
func TestClosedLog(t *testing.T) {
	t.Parallel()
	place := directory(t)
	cmd := command(serveArguments("serve", place, nil)...)
	reader, log, err := os.Pipe()
	must(t, err)
	cmd.Stderr = log
	n := launchCommand(t, place, cmd)
	must(t, log.Close())
	go func() { _, _ = io.Copy(&n.log, reader) }() // until the reader is closed
	n.awaitReady()
	must(t, reader.Close())
	k := n.newKey("acme", unlimited...)
	eventually(t, "a log write fails", func() bool {
		n.list(k.Key).want(t, http.StatusOK)
		return n.metric("petcat_log_writes_lost_total") > 0
	})
	n.list(k.Key).want(t, http.StatusOK)
	n.stop()
}
