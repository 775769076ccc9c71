package reference

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/petcat-api/petcat/docs"
)

func get(t *testing.T, method, path string, header http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	Handler("").ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLinks(t *testing.T) {
	page := get(t, "GET", "/docs", nil)
	if page.StatusCode != http.StatusOK || page.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("/docs: %s, %s", page.Status, page.Header.Get("Content-Type"))
	}
	html := body(t, page.Body)
	named := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(html, -1)
	if len(named) < 5 {
		t.Fatalf("the page has only %d links", len(named))
	}
	elsewhere := map[string]bool{ // served by others
		"/openapi.json": true,
		"/openapi.yaml": true,
		"/postman.json": true,
		"/llms.txt":     true,
	}
	for _, m := range named {
		path, section, _ := strings.Cut(m[1], "#")
		if path == "/docs" && section != "" && !strings.Contains(html, `id="`+section+`"`) {
			t.Errorf("the page links to %s, but has no such section", m[1])
		}
		switch {
		case !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//"):
			t.Errorf("the page links to %s on another server", path)
		case elsewhere[path]:
		default:
			if res := get(t, "GET", path, nil); res.StatusCode != http.StatusOK || res.ContentLength == 0 {
				t.Errorf("%s: %s", path, res.Status)
			}
		}
	}
	wantNothingInline(t, html)
}

func TestGuideLinks(t *testing.T) {
	pages := make(map[string]string)
	for _, g := range docs.Guides() {
		pages["/docs/"+g.Name] = body(t, get(t, "GET", "/docs/"+g.Name, nil).Body)
	}
	for _, name := range []string{"/docs/clients", "/docs/clients/python", "/docs/clients/typescript"} {
		pages[name] = body(t, get(t, "GET", name, nil).Body)
	}
	for name, html := range pages {
		for _, m := range regexp.MustCompile(`href="(/docs/[a-z/-]+|[^"]*\.md|)(?:#([^"]*))?"`).FindAllStringSubmatch(html, -1) {
			target, section := m[1], m[2]
			if target == "" {
				target = name
			}
			if pages[target] == "" || section != "" && !strings.Contains(pages[target], `id="`+section+`"`) {
				t.Errorf("%s links to %s, which does not exist", name, m[0])
			}
		}
	}
}

// TestClients: the server has the clients that integrators install by the guides.
func TestClients(t *testing.T) {
	var paths []string
	for _, g := range docs.Guides() {
		for _, m := range regexp.MustCompile(localURL+`(/docs/clients/[^`+"`"+`\s]+)`).FindAllStringSubmatch(g.Text, -1) {
			paths = append(paths, m[1])
		}
	}
	for _, path := range paths {
		if res := get(t, "GET", path, nil); res.StatusCode != http.StatusOK || len(body(t, res.Body)) < 10_000 {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	if len(paths) != 2 {
		t.Errorf("the guides name the clients %q", paths)
	}
	all := body(t, get(t, "GET", "/docs/clients", nil).Body)
	for _, path := range paths {
		if !strings.Contains(all, "install "+localURL+path) {
			t.Errorf("/docs/clients does not install %s", path)
		}
	}
}

func wantNothingInline(t *testing.T, html string) {
	t.Helper()
	if regexp.MustCompile(`<script[^>]*>[^<]|<style|\son\w+=|\sstyle=`).MatchString(html) {
		t.Error("the page contains an inline script or style, which its policy forbids")
	}
}

func TestSecurityHeaders(t *testing.T) {
	for _, path := range []string{"/docs", "/docs/", "/docs/page.js", "/docs/swagger-ui-bundle.js", "/docs/nothing"} {
		h := get(t, "GET", path, nil).Header
		for name, want := range map[string]string{
			"Content-Security-Policy": contentSecurityPolicy,
			"X-Content-Type-Options":  "nosniff",
			"Referrer-Policy":         "no-referrer",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	rest := strings.Replace(contentSecurityPolicy, "style-src-attr 'unsafe-inline'", "", 1)
	for _, risk := range []string{"unsafe", "http:", "https:", "*"} {
		if strings.Contains(rest, risk) {
			t.Errorf("the policy contains %s", risk)
		}
	}
}

func TestHEADAndSlash(t *testing.T) {
	head := get(t, "HEAD", "/docs", nil)
	if head.StatusCode != http.StatusOK || body(t, head.Body) != "" {
		t.Errorf("HEAD: %s", head.Status)
	}
	slash := get(t, "GET", "/docs/", nil)
	if slash.StatusCode != http.StatusPermanentRedirect || slash.Header.Get("Location") != "/docs" {
		t.Errorf("/docs/: %s to %s", slash.Status, slash.Header.Get("Location"))
	}
}

func TestPublicURL(t *testing.T) {
	pages := Handler("https://pets.example")
	for path, want := range map[string]string{
		"/docs":                 "https://pets.example/v1/categories",
		"/docs/getting-started": "PETCAT_URL=https://pets.example\n",
	} {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if text := w.Body.String(); !strings.Contains(text, want) || strings.Contains(text, localURL) {
			t.Errorf("%s does not contain only the public URL", path)
		}
	}
}

// TestOperatorGuides: the admin listener serves the guides for operators, and all that they link to.
func TestOperatorGuides(t *testing.T) {
	fetch := func(path string) string {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		w := httptest.NewRecorder()
		Admin("").ServeHTTP(w, r)
		if w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: status %d", path, w.Code)
		}
		return w.Body.String()
	}
	for _, g := range docs.OperatorGuides() {
		html := fetch("/admin/docs/" + g.Name)
		for _, m := range regexp.MustCompile(`(?:src|href)="([^"#]+)`).FindAllStringSubmatch(html, -1) {
			path := m[1]
			if strings.Contains(path, "://") {
				continue
			}
			if !strings.HasPrefix(path, "/") {
				path = "/admin/docs/" + path
			}
			fetch(path)
		}
	}
	if !strings.Contains(fetch("/admin/docs/operations"), `id="an-alert-fires"`) {
		t.Error("the runbook of the alerts has no section An alert fires")
	}
}
