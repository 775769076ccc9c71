package reference

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"petcat/api"
	"petcat/internal/tooltest"
)

func get(t *testing.T, method, path string, header http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
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

func TestPageAndEverythingItNames(t *testing.T) {
	page := get(t, "GET", "/docs", nil)
	if page.StatusCode != http.StatusOK || page.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("/docs: %s, %s", page.Status, page.Header.Get("Content-Type"))
	}
	html := body(t, page.Body)
	named := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(html, -1)
	if len(named) < 5 {
		t.Fatalf("the page names only %d files", len(named))
	}
	elsewhere := map[string]bool{"/openapi.json": true, "/openapi.yaml": true, "/openapi.md": true} // served by others
	for _, m := range named {
		path, section, _ := strings.Cut(m[1], "#")
		if heading := regexp.MustCompile(`(?im)^ +## ` + section + `$`); section != "" && !heading.Match(api.YAML("")) {
			t.Errorf("the page names %s, and the document has no section of that name", m[1])
		}
		switch {
		case !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//"):
			t.Errorf("the page names %s, which is not of this server", path)
		case elsewhere[path]:
		default:
			if res := get(t, "GET", path, nil); res.StatusCode != http.StatusOK || res.ContentLength == 0 {
				t.Errorf("%s: %s", path, res.Status)
			}
		}
	}
	wantNothingInline(t, html)
}

func wantNothingInline(t *testing.T, html string) {
	t.Helper()
	if regexp.MustCompile(`<script[^>]*>[^<]|<style|\son\w+=|\sstyle=`).MatchString(html) {
		t.Error("the page holds inline script or style, which its policy forbids")
	}
}

func TestHeadersOfEveryAnswer(t *testing.T) {
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
			t.Errorf("the policy holds %s", risk)
		}
	}
}

func TestConditionalRequest(t *testing.T) {
	for _, encoding := range []string{"", "gzip"} {
		header := http.Header{"Accept-Encoding": {encoding}}
		first := get(t, "GET", "/docs/swagger-ui.css", header)
		header.Set("If-None-Match", first.Header.Get("ETag"))
		again := get(t, "GET", "/docs/swagger-ui.css", header)
		if again.StatusCode != http.StatusNotModified || body(t, again.Body) != "" {
			t.Errorf("encoding %q: %s", encoding, again.Status)
		}
		other := get(t, "GET", "/docs/page.css", header)
		if other.StatusCode != http.StatusOK {
			t.Errorf("encoding %q: another file's ETag matched", encoding)
		}
	}
}

func TestCompression(t *testing.T) {
	for _, c := range []struct {
		name, accept string
		gzip         bool
	}{
		{"none named", "", false},
		{"gzip", "gzip", true},
		{"as browsers say it", "gzip, deflate, br, zstd", true},
		{"in capitals, with a weight", "br;q=1.0, GZIP;q=0.5", true},
		{"refused", "gzip;q=0", false},
		{"anything", "*", true},
		{"anything else", "*, gzip; q=0.0", false},
		{"not a number", "gzip;q=x", false},
		{"another", "br", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain := get(t, "GET", "/docs/swagger-ui-bundle.js", nil)
			res := get(t, "GET", "/docs/swagger-ui-bundle.js", http.Header{"Accept-Encoding": {c.accept}})
			if got := res.Header.Get("Content-Encoding") == "gzip"; got != c.gzip {
				t.Fatalf("compressed: %t", got)
			}
			if res.Header.Get("Vary") != "Accept-Encoding" {
				t.Error("Vary is missing")
			}
			if same := res.Header.Get("ETag") == plain.Header.Get("ETag"); same == c.gzip {
				t.Errorf("the encodings' ETags are equal: %t", same)
			}
			var reader io.Reader = res.Body
			if c.gzip {
				z, err := gzip.NewReader(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				reader = z
			}
			if body(t, reader) != body(t, plain.Body) {
				t.Error("the content differs")
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		status             int
		code               string
	}{
		{"unknown file", "GET", "/docs/nothing", http.StatusNotFound, "not_found"},
		{"a folder of the binary", "GET", "/docs/assets/LICENSE", http.StatusNotFound, "not_found"},
		{"upwards", "GET", "/docs/../reference.go", http.StatusNotFound, "not_found"},
		{"another method", "POST", "/docs", http.StatusMethodNotAllowed, "method_not_allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := get(t, c.method, c.path, nil)
			var e struct {
				Code, Message string
				Status        int
			}
			if err := json.Unmarshal([]byte(body(t, res.Body)), &e); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != c.status || e.Status != c.status || e.Code != c.code || e.Message == "" {
				t.Errorf("%s, %+v", res.Status, e)
			}
		})
	}
	if allow := get(t, "POST", "/docs", nil).Header.Get("Allow"); allow != "GET, HEAD" {
		t.Errorf("Allow is %q", allow)
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

// TestAssetsAreUnchanged compares the files with the checksums that were taken
// when they came, so that nobody mends them by hand.
func TestAssetsAreUnchanged(t *testing.T) {
	tooltest.WantChecksums(t, embedded, "assets")
}
