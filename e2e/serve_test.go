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

	rules "petcat"
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
		dog := n.do(http.MethodPost, "/v1/categories", `{"id":7,"name":"dog","description":"barks"}`, by(k.Key)).want(t, http.StatusCreated)
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

// TestEveryStatus causes every status in the OpenAPI document, except those of a slow body, an ended
// operation and a fault. The client checks the form of each response. No document contains the Host.
func TestEveryStatus(t *testing.T) {
	t.Parallel()
	place := directory(t)
	k, small := newKey(t, place, "acme", unlimited...), newKey(t, place, "small", limited("1", "1")...)
	reader := petcatJSON[key](t, place, "key", "create", "acme", "--read-only")
	n := serve(t, place)
	post := func(body string, changes ...change) *answer {
		t.Helper()
		return n.do(http.MethodPost, "/v1/categories", body, append(changes, by(k.Key))...)
	}
	once := header("Idempotency-Key", "once")
	n.create(k.Key, "dog", once).want(t, http.StatusCreated)
	if a := n.create(k.Key,
		"dog", once).want(t, http.StatusCreated); a.Header.Get("Idempotent-Replayed") != "true" || len(n.categories(k.Key)) != 1 {
		t.Errorf("headers of a replay: %v", a.Header)
	}
	n.create(k.Key, "cat").want(t, http.StatusCreated)
	n.do(http.MethodPost, "/v1/pets", `{"name":"Rex","category_id":1}`, by(k.Key)).want(t, http.StatusCreated)
	var rejected *answer
	eventually(t, "the quota is used up", func() bool { rejected = n.list(small.Key); return rejected.StatusCode != http.StatusOK })
	get := func(path string, changes ...change) *answer { return n.do(http.MethodGet, path, "", changes...) }
	seen := []int{http.StatusOK, http.StatusCreated, http.StatusRequestTimeout, http.StatusGone, http.StatusInternalServerError, http.StatusServiceUnavailable}
	for _, c := range []struct {
		a      *answer
		status int
		code   rules.Code
	}{
		{n.create(k.Key, "cat", once), http.StatusUnprocessableEntity, rules.CodeIdempotencyKeyReused},
		{post(`{}`), http.StatusBadRequest, rules.CodeMissingField},
		{post(`{"name":7}`), http.StatusBadRequest, rules.CodeInvalidField},
		{post(`{"name"`), http.StatusBadRequest, rules.CodeMalformedJSON},
		{post(`[]`), http.StatusBadRequest, rules.CodeInvalidBody},
		{post(`{"name":"` + strings.Repeat("x", 1<<20) + `"}`), http.StatusRequestEntityTooLarge, rules.CodeBodyTooLarge},
		{post(
			"name=dog", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), http.StatusUnsupportedMediaType, rules.CodeUnsupportedMediaType},
		{get("/v1/categories"), http.StatusUnauthorized, rules.CodeMissingAPIKey},
		{get("/v1/no/such/path"), http.StatusUnauthorized, rules.CodeMissingAPIKey},
		{get("/v1/categories", by(strings.Repeat("x", 300))), http.StatusUnauthorized, rules.CodeInvalidAPIKey},
		{get("/v1/categories", by(k.Key), by(k.Key)), http.StatusUnauthorized, rules.CodeInvalidAPIKey},
		{get("/v1/categories?api_key=" + k.Key), http.StatusUnauthorized, rules.CodeInvalidAPIKey},
		{get("/v1/dogs", by(k.Key)), http.StatusNotFound, rules.CodeNotFound},
		{get("/v1/categories/99", by(k.Key)), http.StatusNotFound, rules.CodeNotFound},
		{n.do(http.MethodPut, "/v1/categories", "{}", by(k.Key)), http.StatusMethodNotAllowed, rules.CodeMethodNotAllowed},
		{n.do(http.MethodPatch,
			"/v1/categories/1", `{"name":"x"}`, by(k.Key), header("If-Match", `"other"`)), http.StatusPreconditionFailed, rules.CodePreconditionFailed},
		{n.do(http.MethodDelete, "/v1/categories/1", "", by(k.Key)), http.StatusConflict, rules.CodeCategoryInUse},
		{n.do(http.MethodDelete, "/v1/categories/2", "", by(k.Key)), http.StatusNoContent, ""},
		{n.list(k.Key, header("If-None-Match", "*")), http.StatusNotModified, ""},
		{n.create(reader.Key, "fish"), http.StatusForbidden, rules.CodeForbidden},
		{rejected, http.StatusTooManyRequests, rules.CodeDailyQuotaExceeded},
		{get("/nothing"), http.StatusNotFound, rules.CodeNotFound},
		{get("/metrics"), http.StatusNotFound, rules.CodeNotFound},
		{get("/readyz"), http.StatusNotFound, rules.CodeNotFound},
	} {
		c.a.wantError(t, c.status, c.code)
		seen = append(seen, c.status)
	}
	for _, path := range []string{"/openapi.json", "/openapi.yaml", "/postman.json", "/llms.txt", "/docs", "/docs/getting-started", "/livez"} {
		a := get(path, func(r *http.Request) { r.Host = "evil.example" }).want(t, http.StatusOK)
		if strings.Contains(fmt.Sprint(a.Header, string(a.body)), "evil.example") {
			t.Errorf("%s contains the Host: %v", path, a.Header)
		}
	}
	for _, text := range regexp.MustCompile(`"([2-5]\d\d)":`).FindAllStringSubmatch(string(get("/openapi.json").body), -1) {
		if status, err := strconv.Atoi(text[1]); err != nil || !slices.Contains(seen, status) {
			t.Errorf("no response has the status %s", text[1])
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
	go func() { _, _ = io.Copy(&n.log, reader) }() // ends with the reader
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
