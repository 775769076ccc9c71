package e2e

import (
	"bytes"
	"encoding/json"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/tooltest"
)

// screenshotsVariable names the folder that is to get the pictures of the pages.
const screenshotsVariable = "PETCAT_SCREENSHOTS"

// onPage is an operation as the reference page shows it, and the document has it.
type onPage struct {
	Method, Path, Summary string
	Deprecated            bool
}

// TestReferencePage: an integrator opens the page, authorizes, sends a create and sees
// that it went well; neither the page nor the browser asks another host for anything.
func TestReferencePage(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	openAccount(t, s.data, "integrator", "free")
	_, key := issueKey(t, s.data, "integrator")
	dir := t.TempDir()
	const picture = "reference.png"
	netLog := filepath.Join(dir, "net.json")
	chromium, node := tooltest.Find(t, "chromium", "chromium"), tooltest.Find(t, "node", "nodejs")
	task, err := json.Marshal(map[string]string{
		"executablePath": chromium, "url": s.api + "/docs", "key": key,
		"body": `{"name": "Ferrets", "description": "Domestic ferrets"}`, "screenshot": filepath.Join(dir, picture), "netLog": netLog,
	})
	must(t, err)
	t.Setenv("NODE_PATH", nodeModules(t))
	t.Setenv("HOME", dir) // chromium leaves files there, and in TMPDIR
	t.Setenv("TMPDIR", dir)
	var saw struct {
		Operations    []onPage
		Status, Shown string
		Messages      []string // of the console, and what failed
	}
	must(t, json.Unmarshal([]byte(outputOf(t, ".", node, "testdata/browser/reference.js", string(task))), &saw))

	if diff := cmp.Diff(s.documented(), sortedOperations(saw.Operations)); diff != "" {
		t.Errorf("the page does not show the operations of the document, with their stability and deprecation (-document +page)\n%s", diff)
	}
	all := s.categories(key)
	if len(all) != 1 || all[0].Name != "Ferrets" {
		t.Fatalf("the page has created %v", all)
	}
	var shown category
	if err := json.Unmarshal([]byte(saw.Shown), &shown); err != nil || saw.Status != "201" || shown != all[0] {
		t.Errorf("the page shows %q %q, want 201 and %v", saw.Status, saw.Shown, all[0])
	}
	if len(saw.Messages) > 0 {
		t.Errorf("the console says %q", saw.Messages)
	}
	wantLocal(t, netLog, s.api)
	keepPictures(t, dir, picture)
}

// documented returns the operations of the served document as the page is to show them.
func (s *server) documented() (all []onPage) {
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
				all = append(all, onPage{strings.ToUpper(name), path, operation.Summary + " (" + operation.Stability + ")", operation.Deprecated})
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

// wantLocal checks the log of all that a browser did in the network: the page may have
// asked its server alone, and the browser have connected to nobody else.
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
		if len(event.Params) > 0 && slices.Contains([]int{types["URL_REQUEST_START_JOB"], types["TCP_CONNECT_ATTEMPT"]}, event.Type) {
			must(t, json.Unmarshal(event.Params, &what))
		}
		switch {
		case what.Initiator == server && what.URL != "": // what the browser asks of its own accord has no initiator
			requests++
			if !strings.HasPrefix(what.URL, server+"/") {
				t.Errorf("the page asks %s", what.URL)
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
		t.Errorf("the log of the network tells of %d requests of the page and %d connections", requests, connections)
	}
}

// keepPictures checks pictures of pages, and keeps them if somebody asks for them.
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
