package e2e

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"petcat/internal/tooltest"
)

// delivery is a request that is answered before its body has been read, and what
// came back. Its members are what testdata/clients read and write.
type delivery struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Size    int               `json:"size"`
	Version string            `json:"version"` // 1.0, 1.1 or 2
	By      string            `json:"by"`      // http, fetch or http2, for Node

	want int // the status
}

type delivered struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
	Error  string `json:"error"`
}

// check reports an answer that is missing or another one.
func (d delivery) check(t *testing.T, got delivered) {
	t.Helper()
	var e struct{ Status int }
	_ = json.Unmarshal([]byte(got.Body), &e) // then the status is wrong
	if got.Error != "" || got.Status != d.want || e.Status != d.want {
		t.Errorf("HTTP/%s %s %s of %d bytes %v %s: %d %.200q %s; want %d",
			d.Version, d.Method, d.URL, d.Size, d.Headers["Connection"], d.By, got.Status, got.Body, got.Error, d.want)
	}
}

// early returns a request for each status that is answered early, for bodies of
// 1 to 50 MB.
func early(s *server, version string, headers map[string]string) (all []delivery) {
	s.t.Helper()
	openAccount(s.t, s.data, "spent-"+version+headers["Connection"], "enterprise", "--per-minute", "1000", "--per-day", "1")
	_, spent := issueKey(s.t, s.data, "spent-"+version+headers["Connection"])
	wantStatus(s.t, s.list(spent), http.StatusOK)
	openAccount(s.t, s.data, "good-"+version+headers["Connection"], unlimited...)
	_, key := issueKey(s.t, s.data, "good-"+version+headers["Connection"])
	for _, c := range []struct {
		method, path, key string
		more              map[string]string
		want              int
		sizes             []int
	}{
		{"POST", "/v1/categories", "", nil, 401, []int{1_100_000, 5_000_000}},
		{"POST", "/v1/none", key, nil, 404, []int{1_100_000, 5_000_000}},
		{"PUT", "/v1/categories", key, nil, 405, []int{1_100_000, 5_000_000}},
		{"POST", "/v1/categories", key, nil, 413, []int{1_100_000, 5_000_000, 50_000_000}},
		{"POST", "/v1/categories", key, map[string]string{"Content-Encoding": "gzip"}, 415, []int{1_000_000}},
		{"POST", "/v1/categories", spent, nil, 429, []int{1_100_000, 5_000_000}},
	} {
		for _, size := range c.sizes {
			d := delivery{Method: c.method, URL: s.api + c.path, Headers: maps.Clone(headers), Size: size, Version: version, want: c.want}
			d.Headers["Content-Type"] = "application/json"
			if c.key != "" {
				d.Headers["Authorization"] = "Bearer " + c.key
			}
			maps.Copy(d.Headers, c.more)
			all = append(all, d)
		}
	}
	return all
}

// TestAnswersArrive: however early a request is answered, and whatever client
// sends it, the client gets the answer.
func TestAnswersArrive(t *testing.T) {
	t.Parallel()
	awaitRoomInDay(t, time.Minute)
	dir := t.TempDir()
	plain, secure := serve(t, filepath.Join(dir, "data")), serveTLS(t, dir)
	secure.trusting(filepath.Join(dir, "cert.pem"), "h2")
	kept, closed := map[string]string{}, map[string]string{"Connection": "close"}
	one := slices.Concat(early(plain, "1.1", kept), early(plain, "1.1", closed), early(plain, "1.0", kept))
	two := early(secure, "2", kept)

	t.Run("Python", func(t *testing.T) {
		t.Parallel()
		tooltest.Find(t, "python3", "python3")
		deliver(t, exec.Command("python3", "testdata/clients/client.py"), one)
	})
	t.Run("Node", func(t *testing.T) {
		t.Parallel()
		tooltest.Find(t, "node", "nodejs")
		var all []delivery
		for _, d := range slices.Concat(one, two) {
			switch by := map[string]string{"2": "http2", "1.1": "http"}[d.Version]; {
			case by == "": // it does not speak 1.0
			case by == "http" && d.Headers["Connection"] == "":
				d.By = "fetch"
				all = append(all, d)
				fallthrough
			default:
				d.By = by
				all = append(all, d)
			}
		}
		deliver(t, exec.Command("node", "testdata/clients/client.js"), all)
	})
	t.Run("curl", func(t *testing.T) {
		t.Parallel()
		tooltest.Find(t, "curl", "curl")
		for i, d := range slices.Concat(one, two) {
			if i%2 == 0 {
				d.Headers = maps.Clone(d.Headers)
				d.Headers["Expect"] = "" // else it waits, with a body of a MiB, for 100
			}
			d.check(t, byCurl(t, d))
		}
	})
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		for _, d := range slices.Concat(one, two) {
			if d.Version != "1.0" {
				d.check(t, byGo(t, d))
			}
		}
	})
}

// deliver has a client send all requests, and checks what it got.
func deliver(t *testing.T, client *exec.Cmd, all []delivery) {
	t.Helper()
	input, err := json.Marshal(all)
	must(t, err)
	var errs strings.Builder
	client.Stdin, client.Stderr = bytes.NewReader(input), &errs
	out, err := client.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var got []delivered
	must(t, json.Unmarshal(out, &got))
	if len(got) != len(all) || len(all) == 0 {
		t.Fatalf("%d answers to %d requests", len(got), len(all))
	}
	for i, d := range all {
		d.check(t, got[i])
	}
}

func byCurl(t *testing.T, d delivery) delivered {
	t.Helper()
	file := filepath.Join(t.TempDir(), "body")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Truncate(file, int64(d.Size)))
	version := map[string]string{"1.0": "--http1.0", "1.1": "--http1.1", "2": "--http2"}[d.Version]
	args := []string{"-sSk", version, "--max-time", "30", "-w", "\n%{http_code}", "-X", d.Method, "--data-binary", "@" + file, d.URL}
	for name, value := range d.Headers {
		args = append(args, "-H", fmt.Sprintf("%s: %s", name, value))
	}
	var errs strings.Builder
	cmd := exec.Command("curl", args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return delivered{Error: cmp.Or(errs.String(), err.Error())}
	}
	body, status, _ := strings.Cut(string(out), "\n")
	code, err := strconv.Atoi(status)
	must(t, err)
	return delivered{Status: code, Body: body}
}

func byGo(t *testing.T, d delivery) delivered {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(d.Version != "2")
	protocols.SetHTTP2(d.Version == "2")
	transport := &http.Transport{
		Protocols: protocols, DisableKeepAlives: d.Headers["Connection"] == "close",
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), d.Method, d.URL, bytes.NewReader(make([]byte, d.Size)))
	must(t, err)
	for name, value := range d.Headers {
		r.Header.Set(name, value)
	}
	res, err := (&http.Client{Transport: transport, Timeout: 30 * time.Second}).Do(r)
	if err != nil {
		return delivered{Error: err.Error()}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return delivered{Error: err.Error()}
	}
	return delivered{Status: res.StatusCode, Body: string(body)}
}
