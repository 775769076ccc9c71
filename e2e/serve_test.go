package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"petcat"
	"petcat/internal/stalltest"
)

func TestServeIsReadyWithinASecond(t *testing.T) {
	stalltest.Start(t).InTime("a start", time.Second, func() (took time.Duration) {
		s := serve(t, filepath.Join(t.TempDir(), "data"))
		status, body := s.ask("/readyz")
		s.mustStop()
		if status != http.StatusOK || !strings.Contains(body, `"status":"ready"`) {
			t.Fatalf("/readyz answers %d %s right after the start", status, body)
		}
		return s.startup
	})
}

// TestServeSaysThatItCreates: a server that makes a new deployment says so, once.
func TestServeSaysThatItCreates(t *testing.T) {
	const created = "a new deployment was created"
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	s.mustStop()
	if said := s.log.String(); !strings.Contains(said, created) || !strings.Contains(said, `"place":"`+data+`","environment":"production"`) {
		t.Errorf("the log does not say what was created, and where: %s", said)
	}
	s = serve(t, data, "--init=false")
	s.mustStop()
	if said := s.log.String(); strings.Contains(said, created) {
		t.Errorf("nothing was created: %s", said)
	}
}

// TestServeHonoursMemoryLimit: the Go runtime's own limit holds if it is set.
func TestServeHonoursMemoryLimit(t *testing.T) {
	for limit, want := range map[string]float64{"100MiB": 100 << 20, "": 256 << 20} {
		data := filepath.Join(t.TempDir(), "data")
		s := newServer(t, data)
		cmd := processOf(serveFlags("serve", data, nil)...)
		cmd.Env = append(cmd.Env, "GOMEMLIMIT="+limit)
		s.launch(cmd)
		s.awaitReady()
		eventually(t, 5*time.Second, "the limit holds", func() bool { return s.metric("go_gc_gomemlimit_bytes") == want })
		s.mustStop()
	}
}

func TestServeDescribesItself(t *testing.T) {
	const public = "https://pets.example/api"
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--public-url", public)
	type description struct {
		Servers []struct{ URL string }
		Paths   map[string]any
	}
	for path, decode := range map[string]func([]byte, any) error{
		"/openapi.json": json.Unmarshal,
		"/openapi.yaml": yaml.Unmarshal,
	} {
		t.Run(path, func(t *testing.T) {
			a := s.do(http.MethodGet, path, "")
			wantStatus(t, a, http.StatusOK)
			var d description
			must(t, decode(a.body, &d))
			if len(d.Servers) != 1 || d.Servers[0].URL != public+"/v1" {
				t.Errorf("servers are %v; want %s/v1", d.Servers, public)
			}
			if d.Paths["/categories"] == nil {
				t.Errorf("there are no categories in %v", d.Paths)
			}
			etag := a.Header.Get("ETag")
			for _, value := range []string{"*", etag, "W/" + etag, `"x,y", ` + etag} {
				wantStatus(t, s.do(http.MethodGet, path, "", withHeader("If-None-Match", value)), http.StatusNotModified)
			}
			wantError(t, s.do(http.MethodGet, path, "", withHeader("If-Match", `"nope"`)), http.StatusPreconditionFailed, petcat.CodePreconditionFailed)
			zipped := s.do(http.MethodGet, path, "", withHeader("Accept-Encoding", "gzip"))
			if zipped.Header.Get("Content-Encoding") != "gzip" || len(zipped.body) > len(a.body)/2 {
				t.Errorf("gzip: %d bytes of %d, %v", len(zipped.body), len(a.body), zipped.Header)
			}
		})
	}
	for path, want := range map[string]string{"/docs": "text/html", "/docs/getting-started": "text/html", "/openapi.md": "text/plain"} {
		t.Run(path, func(t *testing.T) {
			a := s.do(http.MethodGet, path, "")
			wantStatus(t, a, http.StatusOK)
			if kind := a.Header.Get("Content-Type"); !strings.HasPrefix(kind, want) {
				t.Errorf("Content-Type is %q", kind)
			}
		})
	}
	t.Run("without a public URL", func(t *testing.T) {
		s := serve(t, filepath.Join(t.TempDir(), "data"))
		a := s.do(http.MethodGet, "/openapi.json", "")
		var d description
		must(t, json.Unmarshal(a.body, &d))
		if len(d.Servers) != 1 || d.Servers[0].URL != s.api+"/v1" {
			t.Errorf("servers are %v; want %s/v1", d.Servers, s.api)
		}
	})
}

func TestServeTellsItsHealth(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	t.Run("livez on both listeners", func(t *testing.T) {
		for _, base := range []string{s.api, s.admin} {
			if status, body, err := ask(base + "/livez"); err != nil || status != http.StatusOK || body != "ok\n" {
				t.Errorf("%s/livez: %d %q %v", base, status, body, err)
			}
		}
	})
	t.Run("readyz", func(t *testing.T) {
		status, body := s.ask("/readyz")
		var r readiness
		must(t, json.Unmarshal([]byte(body), &r))
		if status != http.StatusOK || r.Status != "ready" {
			t.Errorf("%d %s", status, body)
		}
		for _, part := range []string{"store", "limiter", "keyring"} {
			if r.Checks[part] != "ok" {
				t.Errorf("%s is %q", part, r.Checks[part])
			}
		}
	})
	t.Run("not for everybody", func(t *testing.T) {
		for _, path := range []string{"/readyz", "/metrics", "/", "/v2/categories", "/v1x", "/docs/none", "/favicon.ico"} {
			wantError(t, s.do(http.MethodGet, path, ""), http.StatusNotFound, petcat.CodeNotFound)
		}
	})
	t.Run("nothing to change", func(t *testing.T) {
		for _, path := range []string{"/openapi.json", "/docs", "/livez"} {
			wantError(t, s.do(http.MethodPost, path, "{}"), http.StatusMethodNotAllowed, petcat.CodeMethodNotAllowed)
		}
	})
}

func TestServeCountsForPrometheus(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	openAccount(t, data, "tiny", "enterprise", "--per-minute", "100", "--per-day", "5")
	_, key := issueKey(t, data, "tiny")
	lapse(heardWithin) // news of a key makes the server forget what it knows of it
	awaitRoomInDay(t, 10*time.Second)
	wantStatus(t, s.list(key), http.StatusOK)
	wantStatus(t, s.create(key, "dog"), http.StatusCreated)
	wantStatus(t, s.create(key, "cat"), http.StatusCreated)
	wantStatus(t, s.create(key, ""), http.StatusBadRequest)
	wantStatus(t, s.do(http.MethodGet, "/v1/whatever", "", withKey(key)), http.StatusNotFound)
	wantStatus(t, s.list(key), http.StatusTooManyRequests)
	wantStatus(t, s.do(http.MethodGet, "/v1/categories", ""), http.StatusUnauthorized)
	s.do(http.MethodGet, "/docs", "") // not part of the API, and not counted

	for series, want := range map[string]float64{
		`petcat_requests_total{code="200",operation="listCategories"}`:      1,
		`petcat_requests_total{code="201",operation="createCategory"}`:      2,
		`petcat_requests_total{code="400",operation="createCategory"}`:      1,
		`petcat_requests_total{code="404",operation="none"}`:                1,
		`petcat_requests_total{code="401",operation="none"}`:                1,
		`petcat_requests_total{code="429",operation="none"}`:                1,
		`petcat_request_duration_seconds_count{operation="none"}`:           3,
		`petcat_admitted_total`:                                             5,
		`petcat_refused_total{reason="missing_api_key"}`:                    1,
		`petcat_refused_total{reason="daily_quota_exceeded"}`:               1,
		`petcat_refused_total{reason="key_banned"}`:                         0,
		`petcat_bans_total{mode="enforce"}`:                                 0,
		`petcat_bans_total{mode="shadow"}`:                                  0,
		`petcat_categories`:                                                 2,
		`petcat_store_up`:                                                   1,
		`petcat_limiter_degraded`:                                           0,
		`petcat_limiter_accounts`:                                           1,
		`petcat_keyring_trusted`:                                            1,
		`petcat_keyring_keys`:                                               1,
		`petcat_request_duration_seconds_count{operation="listCategories"}`: 1,
	} {
		if got := s.metric(series); got != want {
			t.Errorf("%s is %v; want %v", series, got, want)
		}
	}
	for _, series := range []string{"petcat_commit_group_size_count", "petcat_commit_duration_seconds_count", "petcat_store_wal_bytes"} {
		if s.metric(series) < 1 {
			t.Errorf("%s counts nothing", series)
		}
	}
	wantFixedLabels(t, s)
}

// wantFixedLabels checks that no label has a value that callers choose.
func wantFixedLabels(t *testing.T, s *server) {
	t.Helper()
	_, body := s.ask("/metrics")
	allowed := []string{"operation", "code", "reason", "mode", "version", "cause", "le", "quantile"}
	label := regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, l := range label.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(allowed, l[1]) || strings.Contains(l[2], "pck_") || strings.Contains(l[2], "/") {
				t.Errorf("a label that callers could choose: %s", line)
			}
		}
	}
}
