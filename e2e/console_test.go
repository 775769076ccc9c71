package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/tooltest"
)

// linkFor creates an operator of a running server, and returns the link.
func (s *server) linkFor(name, role string, flags ...string) string {
	s.t.Helper()
	var o struct{ Link string }
	args := append([]string{"operator", "create", name, "--role", role, "--console-url", s.admin, "--json"}, flags...)
	must(s.t, json.Unmarshal([]byte(petcatDoes(s.t, s.data, args...)), &o))
	return o.Link
}

// chartLines are the patterns of the lines of one chart, as they are drawn and as its legend
// shows them.
type chartLines struct {
	Drawn, Legend []string
	Colours       bool // those of the colour scheme
}

// wantPatterns checks that nobody needs colours to tell the lines of a chart apart, in both
// colour schemes.
func wantPatterns(t *testing.T, lines []chartLines, patterns [][]string) {
	t.Helper()
	if len(lines) != 6 || len(patterns) != 4 {
		t.Fatalf("there are %d charts in both schemes, and series for %d; want 6 and 4", len(lines), len(patterns))
	}
	for _, c := range lines {
		if diff := cmp.Diff(c.Drawn, c.Legend); diff != "" || len(c.Drawn) == 0 || !c.Colours {
			t.Errorf("%+v: the lines and the legend (-drawn +legend)\n%s", c, diff)
		}
		patterns = append(patterns, c.Drawn)
	}
	for _, all := range patterns {
		if distinct := slices.Compact(slices.Sorted(slices.Values(all))); len(distinct) != len(all) {
			t.Errorf("some lines have the same pattern: %q", all)
		}
	}
}

// TestConsoleInBrowser: an operator signs in with a link, creates an account and a key that
// the API takes at once, changes the plan, sees the charts move, lifts a ban and signs out; axe finds nothing
// serious on any page, nor on those of a viewer; and neither the pages nor the browser ask another host for anything.
func TestConsoleInBrowser(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	dir := t.TempDir()
	netLog, link, viewer := filepath.Join(dir, "net.json"), s.linkFor("ada", "admin"), s.linkFor("bob", "viewer")
	chromium, node := tooltest.Find(t, "chromium", "chromium"), tooltest.Find(t, "node", "nodejs")
	minutes := 0 // of use
	if os.Getenv(screenshotsVariable) != "" {
		minutes = 5
	}
	task, err := json.Marshal(map[string]any{"executablePath": chromium, "link": link, "viewer": viewer, "api": s.api, "netLog": netLog, "pictures": dir, "minutes": minutes})
	must(t, err)
	t.Setenv("NODE_PATH", nodeModules(t))
	t.Setenv("HOME", dir) // chromium leaves files there, and in TMPDIR
	t.Setenv("TMPDIR", dir)
	var saw struct {
		Address, FirstStop, Account, Key, Copied, Found, After string
		Again, Drawn                                           bool
		Stale                                                  []bool
		Calls                                                  []any
		Lines                                                  []chartLines
		Patterns                                               [][]string // of all series of each chart
		Messages, Serious                                      []string
	}
	must(t, json.Unmarshal([]byte(outputOf(t, ".", node, "testdata/browser/console.js", string(task))), &saw))

	if saw.Address != s.admin+"/console/sign-in" {
		t.Errorf("the address of the link stays %s", saw.Address)
	}
	if saw.FirstStop != "Skip to the content" || saw.Account != "acct_1" || saw.After != "/console/sign-in" {
		t.Errorf("the first stop is %q, the account %s, and who has signed out sees %s", saw.FirstStop, saw.Account, saw.After)
	}
	if saw.Copied != saw.Key || !regexp.MustCompile(`^pck_live_\w{38}$`).MatchString(saw.Key) || saw.Again {
		t.Errorf("the key is %q, %q was copied, and it is shown again: %v", saw.Key, saw.Copied, saw.Again)
	}
	if len(saw.Calls) != 3 || saw.Calls[0] != 200.0 || saw.Calls[1] != "429 key_banned" || saw.Calls[2] != 200.0 && saw.Calls[2] != "429 rate_limit_exceeded" {
		t.Errorf("the calls are answered %v, want 200, then a ban, then, a second after it was lifted at most, one without", saw.Calls)
	}
	if !saw.Drawn {
		t.Error("the chart of requests does not show those that were refused")
	}
	wantPatterns(t, saw.Lines, saw.Patterns)
	if saw.Found != "Accounts on this page: 0. yes" {
		t.Errorf("the status region of the search says %q", saw.Found)
	}
	if diff := cmp.Diff([]bool{false, true}, saw.Stale); diff != "" {
		t.Errorf("numbers are said to be old (-want +got)\n%s", diff)
	}
	for _, serious := range saw.Serious {
		t.Error(serious)
	}
	if diff := cmp.Diff([]string{}, saw.Messages); diff != "" {
		t.Errorf("the console says (-want +got)\n%s", diff)
	}
	wantLocal(t, netLog, s.admin)
	keepPictures(t, dir, "console-light.png", "console-dark.png", "console-phone.png")
	if token := link[strings.Index(link, "#")+1:]; strings.Contains(s.log.String(), token) || strings.Contains(s.log.String(), saw.Key) {
		t.Error("the log has a secret")
	}
	for _, line := range []string{"operator.sign_in", "account.create", "key.create", "account.set_plan", "ban.lift", "category.create"} {
		if audit := petcatDoes(t, s.data, "audit", "list", "--actor", "operator ada"); !strings.Contains(audit, line) {
			t.Errorf("the audit log lacks %s by the operator\n%s", line, audit)
		}
	}
}

// callAdmin sends a request to the admin listener as somebody does who knows it by a host, ""
// for its own, and returns the answer, also if that leads elsewhere.
func (s *server) callAdmin(host, method, path string, form url.Values) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.admin+path, strings.NewReader(form.Encode()))
	must(s.t, err)
	r.Host = host
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("X-Forwarded-For", "192.0.2.7") // as a proxy does
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(r)
	must(s.t, err)
	must(s.t, res.Body.Close())
	return res
}

// wantAdmin checks how the admin listener answers those who know it by a host.
func (s *server) wantAdmin(host, path string, status int) {
	s.t.Helper()
	if res := s.callAdmin(host, http.MethodGet, path, nil); res.StatusCode != status {
		s.t.Errorf("%s by %q: %s, want %d", path, host, res.Status, status)
	}
}

// wantHostCookie checks that an operator who signs in by a host gets a cookie that is for it
// alone, and for TLS.
func (s *server) wantHostCookie(host string) {
	s.t.Helper()
	_, token, _ := strings.Cut(s.linkFor("ada", "admin"), "#")
	res := s.callAdmin(host, http.MethodPost, "/console/sign-in", url.Values{"token": {token}})
	cookies := res.Cookies()
	if res.StatusCode != http.StatusSeeOther || len(cookies) != 1 {
		s.t.Fatalf("signing in by %q: %s, and %d cookies", host, res.Status, len(cookies))
	}
	if c := cookies[0]; c.Name != "__Host-petcat-console" || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
		s.t.Errorf("the cookie by %q is %s", host, c)
	}
}

// TestConsoleNames: the console answers to its own names, and the name that only
// --console-url gives it leads to nothing else, because anybody may come by it.
func TestConsoleNames(t *testing.T) {
	t.Parallel()
	const name = "console.example.com"
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--console-url", "https://"+name, "--trusted-proxies", "127.0.0.1")
	for _, host := range []string{"", "localhost:1", "[::1]", name, name + ":443"} {
		s.wantAdmin(host, "/console/sign-in", http.StatusOK)
		s.wantAdmin(host, "/console/files/console.js", http.StatusOK)
		s.wantAdmin(host, "/", http.StatusSeeOther)
	}
	for _, path := range []string{"/metrics", "/settings", "/readyz", "/readyz?verbose", "/livez"} {
		s.wantAdmin("", path, http.StatusOK)
		s.wantAdmin("localhost:1", path, http.StatusOK)
		s.wantAdmin(name, path, http.StatusForbidden)
		s.wantAdmin(strings.ToUpper(name), path, http.StatusForbidden)
	}
	for _, host := range []string{"evil.example", name + ".evil.example"} {
		for _, path := range []string{"/console/sign-in", "/", "/metrics", "/settings"} {
			s.wantAdmin(host, path, http.StatusForbidden)
		}
	}
	if status, body := s.ask("/"); status != http.StatusOK || !strings.Contains(body, "Sign in to petcat") {
		t.Errorf("/ leads to %d\n%s", status, body)
	}
	s.wantHostCookie(name)
	eventually(t, 5*time.Second, "the log has the address that the proxy names", func() bool {
		return strings.Contains(s.log.String(), `"msg":"an operator signed in","operator":"ada","address":"192.0.2.7"`)
	})
	s.mustStop()

	// Where other machines reach the listener, they may know it by any name.
	s = serve(t, s.data, "--console-url", "https://"+name, "--admin-listen", "0.0.0.0:0", "--admin-allow-plaintext")
	s.wantAdmin(name, "/console/sign-in", http.StatusOK)
	s.wantAdmin(name, "/metrics", http.StatusForbidden)
	s.wantAdmin(name, "/settings", http.StatusForbidden)
	s.wantAdmin("node-1.internal", "/metrics", http.StatusOK)
	s.mustStop()
}

// TestConsoleNeedsTLS: there is no console where others could read a session.
func TestConsoleNeedsTLS(t *testing.T) {
	t.Parallel()
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--admin-listen", "0.0.0.0:0", "--admin-allow-plaintext")
	if status, body := s.ask("/console/sign-in"); status != http.StatusForbidden || !strings.Contains(body, "needs TLS") {
		t.Errorf("the console answers %d\n%s", status, body)
	}
	if status, _ := s.ask("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz answers %d", status)
	}
}
