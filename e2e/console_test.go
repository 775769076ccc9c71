package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
// serious on any page; and neither the pages nor the browser ask another host for anything.
func TestConsoleInBrowser(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	dir := t.TempDir()
	netLog, link := filepath.Join(dir, "net.json"), s.linkFor("ada", "admin")
	chromium, node := tooltest.Find(t, "chromium", "chromium"), tooltest.Find(t, "node", "nodejs")
	minutes := 0 // of use
	if os.Getenv(screenshotsVariable) != "" {
		minutes = 5
	}
	task, err := json.Marshal(map[string]any{"executablePath": chromium, "link": link, "api": s.api, "netLog": netLog, "pictures": dir, "minutes": minutes})
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
	if len(saw.Calls) != 3 || saw.Calls[0] != 200.0 || saw.Calls[1] != "429 key_banned" || saw.Calls[2] == "429 key_banned" {
		t.Errorf("the calls are answered %v, want 200, then a ban, then none", saw.Calls)
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

// TestConsoleNames: the console answers to its own names, and without TLS only on the
// loopback.
func TestConsoleNames(t *testing.T) {
	t.Parallel()
	s := serve(t, filepath.Join(t.TempDir(), "data"), "--console-url", "https://console.example.com")
	wantConsole := func(s *server, host string, status int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+"/console/sign-in", nil)
		must(t, err)
		r.Host = host
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(r)
		must(t, err)
		defer res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("%s for %s: %s, want %d", r.URL, host, res.Status, status)
		}
	}
	for host, status := range map[string]int{
		"": http.StatusOK, "localhost:1": http.StatusOK, "[::1]": http.StatusOK, "console.example.com": http.StatusOK,
		"evil.example": http.StatusForbidden, "console.example.com.evil.example": http.StatusForbidden,
	} {
		wantConsole(s, host, status)
	}
	if status, body := s.ask("/"); status != http.StatusOK || !strings.Contains(body, "Sign in to petcat") {
		t.Errorf("/ leads to %d\n%s", status, body)
	}
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
