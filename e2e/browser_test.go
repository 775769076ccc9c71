//go:build browser

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runBrowser runs a script of testdata/browser, which controls Chromium, and returns its output. task
// is its input.
func runBrowser(t *testing.T, script, dir string, task map[string]any) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	must(t, err)
	modules, err := filepath.Abs("../tools/browser/node_modules")
	must(t, err)
	task["executablePath"], task["netLog"] = chromium, filepath.Join(dir, "net.json")
	text, err := json.Marshal(task)
	must(t, err)
	cmd := exec.Command("node", "testdata/browser/"+script, string(text))
	// Chromium leaves files in HOME and TMPDIR.
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "HOME="+dir, "TMPDIR="+dir)
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s%s", script, err, out, exit.Stderr)
	}
	must(t, err)
	return string(out)
}

// screenshotsVariable names the directory for screenshots.
const screenshotsVariable = "PETCAT_SCREENSHOTS"

// onPage is an operation on the reference page or in the document.
type onPage struct {
	Method, Path, Summary string
	Deprecated            bool
}

// TestBrowserReference: an integrator opens the page, enters a key, sends a create and sees the
// result. axe does not find a serious problem, and neither the page nor the browser contacts another host.
func TestBrowserReference(t *testing.T) {
	s := serve(t, directory(t))
	k := s.newKey("integrator", "free")
	dir := t.TempDir()
	const picture = "reference.png"
	var saw struct {
		Operations    []onPage
		Status, Shown string
		Messages      []string // of the browser console
		Serious       []string // problems that axe found
	}
	must(t, json.Unmarshal([]byte(runBrowser(t, "reference.js", dir, map[string]any{
		"url":        s.api + "/docs",
		"key":        k.Key,
		"body":       `{"name": "Ferrets", "description": "Domestic ferrets"}`,
		"screenshot": filepath.Join(dir, picture),
	})), &saw))

	if diff := cmp.Diff(s.documented(), sortedOperations(saw.Operations)); diff != "" {
		t.Errorf("operations, with stability and deprecation (-document +page)\n%s", diff)
	}
	all := s.categories(k.Key)
	if len(all) != 1 || all[0].Name != "Ferrets" {
		t.Fatalf("the page created %v", all)
	}
	var shown category
	if err := json.Unmarshal([]byte(saw.Shown), &shown); err != nil || saw.Status != "201" || shown != all[0] {
		t.Errorf("the page shows %q %q, want 201 and %v", saw.Status, saw.Shown, all[0])
	}
	if len(saw.Messages) > 0 {
		t.Errorf("the console says %q", saw.Messages)
	}
	for _, serious := range saw.Serious {
		t.Error(serious)
	}
	wantLocal(t, filepath.Join(dir, "net.json"), s.api)
	keepPictures(t, dir, picture)
}

// documented returns the operations of the served document, as expected on the page.
func (s *node) documented() (all []onPage) {
	s.t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage // by path, then by method or other member
	}
	must(s.t, json.Unmarshal(s.do(http.MethodGet, "/openapi.json", "").body, &document))
	for path, members := range document.Paths {
		for name, member := range members {
			var operation struct {
				OperationID, Summary string
				Stability            string `json:"x-stability"`
				Deprecated           bool
			}
			if json.Unmarshal(member, &operation) == nil && operation.OperationID != "" {
				title := operation.Summary + " (" + operation.Stability + ")"
				all = append(all, onPage{strings.ToUpper(name), path, title, operation.Deprecated})
			}
		}
	}
	return sortedOperations(all)
}

func sortedOperations(all []onPage) []onPage {
	return slices.SortedFunc(slices.Values(all), func(a, b onPage) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
}

// wantLocal checks a browser's network log: the page may send requests, and the browser connect, only
// to the server.
func wantLocal(t *testing.T, file, server string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	var log struct {
		Constants struct{ LogEventTypes map[string]int }
		Events    []struct {
			Type   int
			Params json.RawMessage
		}
	}
	must(t, json.Unmarshal(text, &log))
	types := log.Constants.LogEventTypes
	requests, connections := 0, 0
	for _, event := range log.Events {
		var what struct{ Initiator, URL, Address string }
		begins := event.Type == types["URL_REQUEST_START_JOB"] || event.Type == types["TCP_CONNECT_ATTEMPT"]
		if len(event.Params) > 0 && begins {
			must(t, json.Unmarshal(event.Params, &what))
		}
		switch {
		case what.Initiator == server && what.URL != "": // the browser's own requests lack an initiator
			requests++
			if !strings.HasPrefix(what.URL, server+"/") {
				t.Errorf("the page requests %s", what.URL)
			}
		case what.Address != "":
			connections++
			if "http://"+what.Address != server {
				t.Errorf("the browser connects to %s", what.Address)
			}
		case event.Type == types["UDP_BYTES_SENT"]:
			t.Errorf("the browser sends a datagram: %s", event.Params)
		}
	}
	if requests == 0 || connections == 0 || types["UDP_BYTES_SENT"] == 0 {
		t.Errorf("the network log has %d requests of the page and %d connections", requests, connections)
	}
}

// keepPictures checks screenshots, and keeps them if screenshotsVariable is set.
func keepPictures(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		picture, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		if _, err := png.Decode(bytes.NewReader(picture)); err != nil || len(picture) > 300<<10 {
			t.Errorf("%s has %d bytes: %v", name, len(picture), err)
		}
		if to := os.Getenv(screenshotsVariable); to != "" {
			must(t, os.WriteFile(filepath.Join(to, name), picture, 0o644))
		}
	}
}

// chartLines are the line patterns of one chart, as drawn and in its legend.
type chartLines struct {
	Drawn, Legend []string
	Colors        bool // in the scheme's colors
}

// wantPatterns checks that a chart's lines differ without their colors, in both color schemes.
func wantPatterns(t *testing.T, lines []chartLines, patterns [][]string) {
	t.Helper()
	if len(lines) != 8 || len(patterns) != 5 {
		t.Fatalf("%d charts in both schemes, and series for %d; want 8 and 5", len(lines), len(patterns))
	}
	for _, c := range lines {
		if diff := cmp.Diff(c.Drawn, c.Legend); diff != "" || len(c.Drawn) == 0 || !c.Colors {
			t.Errorf("%+v: patterns (-drawn +legend)\n%s", c, diff)
		}
		patterns = append(patterns, c.Drawn)
	}
	for _, all := range patterns {
		if distinct := slices.Compact(slices.Sorted(slices.Values(all))); len(distinct) != len(all) {
			t.Errorf("some lines have the same pattern: %q", all)
		}
	}
}

// TestBrowserConsole: an operator signs in with a link, creates an account and a key that the API
// accepts immediately, changes the plan, sees the charts change, lifts a ban, revokes the key and
// signs out. axe does not find a serious problem on any page, also for a viewer. Neither the pages nor the
// browser contact another host.
func TestBrowserConsole(t *testing.T) {
	s := serve(t, directory(t))
	dir, link, viewer := t.TempDir(), s.signInLink("ada", "admin"), s.signInLink("bob", "viewer")
	minutes := 0 // of use
	if os.Getenv(screenshotsVariable) != "" {
		minutes = 5
	}
	var saw struct {
		Address, FirstStop, Account, Key, Copied, Found, Focus, Kept, After string
		Again, Drawn, Isolated                                              bool
		Stale                                                               []bool
		Calls                                                               []any
		Lines                                                               []chartLines
		Patterns                                                            [][]string // of all series of each chart
		Messages, Serious                                                   []string
	}
	must(t, json.Unmarshal([]byte(runBrowser(t, "console.js", dir, map[string]any{
		"link": link, "viewer": viewer, "api": s.api, "pictures": dir, "minutes": minutes,
	})), &saw))

	if saw.Address != s.admin+"/console/sign-in" {
		t.Errorf("the browser keeps the URL of the link: %s", saw.Address)
	}
	if saw.FirstStop != "Skip to the content" || saw.Account != "acct_1" || saw.After != "/console/sign-in" {
		t.Errorf("first focus %q, account %s, after signing out %s", saw.FirstStop, saw.Account, saw.After)
	}
	if saw.Copied != saw.Key || !regexp.MustCompile(`^pck_live_\w{38}$`).MatchString(saw.Key) || saw.Again {
		t.Errorf("key %q, copied %q, shown again: %v", saw.Key, saw.Copied, saw.Again)
	}
	calls := fmt.Sprint(saw.Calls)
	if !regexp.MustCompile(`^\[200 429 key_banned (200|429 rate_limit_exceeded) 401 revoked_api_key]$`).MatchString(calls) {
		t.Errorf("calls: %s, want 200, a ban, 200 a second after it was lifted, 401 a second after the revocation", calls)
	}
	if !saw.Isolated {
		t.Error("a name changes the direction of the text after it")
	}
	if !saw.Drawn {
		t.Error("the chart of requests does not show rejected requests")
	}
	wantPatterns(t, saw.Lines, saw.Patterns)
	if saw.Kept != "Loyal,\nand always tired" {
		t.Errorf("a form that was sent after the end of the session has the description %q", saw.Kept)
	}
	if saw.Found != "/console/find" || saw.Focus != "name" {
		t.Errorf("search result %s, focused field %s", saw.Found, saw.Focus)
	}
	if diff := cmp.Diff([]bool{false, true}, saw.Stale); diff != "" {
		t.Errorf("stale numbers (-want +got)\n%s", diff)
	}
	for _, serious := range saw.Serious {
		t.Error(serious)
	}
	if diff := cmp.Diff([]string{}, saw.Messages); diff != "" {
		t.Errorf("the console says (-want +got)\n%s", diff)
	}
	wantLocal(t, filepath.Join(dir, "net.json"), s.admin)
	if net, err := os.ReadFile(filepath.Join(dir, "net.json")); err != nil || bytes.Contains(net, []byte(saw.Key)) {
		t.Errorf("the browser sent the key in a URL, or its log is missing: %v", err)
	}
	keepPictures(t, dir, "console-light.png", "console-dark.png", "console-phone.png")
	token, log := link[strings.Index(link, "#")+1:], s.log.String()
	if strings.Contains(log, token) || strings.Contains(log, saw.Key) {
		t.Error("the log contains a secret")
	}
	for _, line := range []string{
		"operator.sign_in", "account.create", "key.create", "account.set_plan",
		"ban.lift", "key.revoke", "category.create",
	} {
		if audit := petcat(t, s.place, "audit", "list", "--actor", "operator ada"); !strings.Contains(audit, line) {
			t.Errorf("the audit log lacks %s by the operator\n%s", line, audit)
		}
	}
}

// TestBrowserAccount: a customer opens a link that the operator's site created, creates a key, calls
// the API with it, rotates it, sees usage and rejections, and requests Pro. The operator approves,
// and the next response has the quota 300. axe does not find a serious problem, and other hosts are not
// contacted.
func TestBrowserAccount(t *testing.T) {
	place, dir := directory(t), t.TempDir()
	s := serve(t, place, "--customer-pages")
	petcat(t, place, "account", "create", "Whiskers & Co", "--plan", "free")
	type secret struct{ Token string }
	token := petcatJSON[secret](t, place, "operator", "token", "create", "site", "--role", "admin").Token
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.admin+"/admin/v1/accounts/acct_1/links", nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	must(t, err)
	defer func() { _ = res.Body.Close() }()
	var link struct{ URL string }
	must(t, json.NewDecoder(res.Body).Decode(&link))

	var saw struct {
		Address, FirstStop, After      string
		Keys, Calls, Messages, Serious []string
		Again                          bool
		Approval                       int
	}
	must(t, json.Unmarshal([]byte(runBrowser(t, "account.js", dir, map[string]any{
		"link": link.URL, "api": s.api, "management": s.admin, "token": token, "pictures": dir,
	})), &saw))
	const page = "/account/sign-in"
	if saw.Address != s.api+page || saw.FirstStop != "Skip to the content" || saw.After != page {
		t.Errorf("URL %s, first focus %q, after signing out %s", saw.Address, saw.FirstStop, saw.After)
	}
	if len(saw.Keys) != 2 || saw.Keys[0] == saw.Keys[1] || saw.Again {
		t.Errorf("keys %q, first shown again: %v", saw.Keys, saw.Again)
	}
	calls := []string{"200 of 60", "200 of 60", "200 of 60", "200 of 300"}
	if diff := cmp.Diff(calls, saw.Calls); diff != "" || saw.Approval != http.StatusOK {
		t.Errorf("approval %d, calls (-want +got)\n%s", saw.Approval, diff)
	}
	for _, serious := range saw.Serious {
		t.Error(serious)
	}
	if diff := cmp.Diff([]string{}, saw.Messages); diff != "" {
		t.Errorf("the console says (-want +got)\n%s", diff)
	}
	wantLocal(t, filepath.Join(dir, "net.json"), s.api)
	keepPictures(t, dir, "account-light.png", "account-dark.png", "account-phone.png")
	audit := petcat(t, place, "audit", "list", "--actor", "customer acct_1")
	for _, action := range []string{
		"account.sign_in",
		"key.create",
		"key.rotate",
		"plan_request.create",
		"key.revoke",
	} {
		if strings.Count(audit, action) != 1 {
			t.Errorf("the audit log does not have one %s by the customer\n%s", action, audit)
		}
	}
	fragment, log := link.URL[strings.Index(link.URL, "#")+1:], s.log.String()
	if strings.Contains(log, fragment) || strings.Contains(log, saw.Keys[0]) {
		t.Error("the log contains a secret")
	}
}
