package server

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/petcat-api/petcat"
)

// operatorNode is a node with a management API token, and its log.
type operatorNode struct {
	*Node

	t     *testing.T
	token string
	log   *lockedBuffer
}

func startOperatorNode(t *testing.T) *operatorNode {
	t.Helper()
	log := new(lockedBuffer)
	o := testOptions(t, filepath.Join(t.TempDir(), "data"), log)
	n := must(Start(t.Context(), o))
	t.Cleanup(func() {
		if err := n.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
	g := must(petcat.GenerateOperatorToken(rand.Reader))
	must(n.Store().CreateToken(t.Context(), petcat.By("cli:ada"), petcat.NewToken{
		Name: "ci",
		Role: petcat.RoleAdmin,
		Hash: g.Hash,
		Hint: g.Hint,
	}))
	return &operatorNode{Node: n, t: t, token: g.Secret.Reveal(), log: log}
}

// send sends a request to the admin listener with the token.
func (n *operatorNode) send(method, path string) *httptest.ResponseRecorder {
	n.t.Helper()
	r := httptest.NewRequestWithContext(n.t.Context(), method, "http://localhost"+path, nil)
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("Authorization", "Bearer "+n.token)
	w := httptest.NewRecorder()
	n.admin.Handler.ServeHTTP(w, r)
	return w
}

// lines returns the access log lines of the node.
func (n *operatorNode) lines() (lines []string) {
	n.Log.Flush()
	for line := range strings.Lines(n.log.String()) {
		if strings.Contains(line, "msg=request ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestOperatorsAreRecorded: each request to the management API and the console leaves one line with the
// token, and one count, by the route's pattern.
func TestOperatorsAreRecorded(t *testing.T) {
	t.Parallel()
	n := startOperatorNode(t)
	for _, c := range []struct {
		method, path string
		line, series string
	}{
		{
			"GET", "/admin/v1/accounts",
			`method=GET route=/admin/v1/accounts status=200 token=ci address=127.0.0.1 `,
			`petcat_admin_requests_total{code="2xx",route="GET /admin/v1/accounts"}`,
		},
		{
			"GET", "/admin/v1/keys/key_7",
			`method=GET route=/admin/v1/keys/{key} status=404 code=not_found token=ci address=127.0.0.1 `,
			`petcat_admin_requests_total{code="4xx",route="GET /admin/v1/keys/{key}"}`,
		},
		{
			"BREW", "/admin/v1/nothing/at/all",
			`method=BREW route=none status=404 code=not_found token=ci address=127.0.0.1 `,
			`petcat_admin_requests_total{code="4xx",route="none"}`,
		},
		{
			"GET", "/console/accounts",
			`method=GET route=/console/accounts status=303 address=127.0.0.1 `,
			`petcat_admin_requests_total{code="3xx",route="GET /console/accounts"}`,
		},
	} {
		before := len(n.lines())
		w := n.send(c.method, c.path)
		lines := n.lines()[before:]
		id := w.Header().Get("X-Request-Id")
		recorded := len(lines) == 1 && strings.Contains(lines[0], c.line)
		if !recorded || id == "" || !strings.Contains(lines[0], "request_id="+id+" ") {
			t.Errorf("%s %s with X-Request-Id %q:\n%s\nwant %s", c.method, c.path, id, lines, c.line)
		}
		n.wantMetric(t, c.series, 1)
	}
}

// TestNoKeyOnTheAdminListener: a URL with a key or a token is rejected, and no log line contains it, also
// while the database fails.
func TestNoKeyOnTheAdminListener(t *testing.T) {
	t.Parallel()
	n := startOperatorNode(t)
	key := must(petcat.GenerateKey(petcat.Production, rand.Reader)).Secret.Reveal()
	request := func() {
		for _, secret := range []string{key, n.token} {
			for _, path := range []string{
				"/admin/v1/keys/" + secret, "/admin/v1/keys?hint=" + secret, "/admin/v1/accounts/" + secret + "/keys",
				"/console/keys/" + secret, "/console/find?q=" + secret,
			} {
				if w := n.send(http.MethodGet, path); w.Code != http.StatusUnauthorized {
					t.Errorf("%s: %d, want 401", path, w.Code)
				}
			}
		}
	}
	request()
	n.data.db.Close()
	request()
	if w := n.send(http.MethodGet, "/admin/v1/keys/key_77777"); w.Code < 500 {
		t.Errorf("%d without a database", w.Code)
	}
	n.Log.Flush()
	if found := petcat.SecretsIn(n.log.String()); len(found) > 0 || strings.Contains(n.log.String(), "key_77777") {
		t.Errorf("the log contains a path:\n%s", n.log)
	}
}

// TestRoutesAreBounded: a metric's label does not contain text from a client.
func TestRoutesAreBounded(t *testing.T) {
	t.Parallel()
	n := startOperatorNode(t)
	for _, path := range []string{
		"/admin/v1/accounts/guessed", "/admin/v1/guessed", "/console/guessed", "/debug/pprof/guessed",
	} {
		for _, method := range []string{"GET", "GUESSED"} {
			n.send(method, path)
		}
	}
	w := httptest.NewRecorder()
	n.metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if found := regexp.MustCompile(`(?i).*guessed.*`).FindString(w.Body.String()); found != "" {
		t.Error(found)
	}
}
