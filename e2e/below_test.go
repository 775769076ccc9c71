package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"petcat/internal/tooltest"
)

// below is an answer of the HTTP server itself, as docs/errors.md lists it.
type below struct {
	http   string // "1.0, 1.1" or "2"
	status int
	body   string
}

const (
	one, two = "1.0, 1.1", "2"
)

// listedBelow reads the list.
func listedBelow(t *testing.T) (listed []below) {
	t.Helper()
	page, err := os.ReadFile("../docs/errors.md")
	must(t, err)
	for _, row := range regexp.MustCompile(`(?m)^\| (1\.0, 1\.1|2) \| (\d{3}) \| .* \| (.*) \|$`).FindAllStringSubmatch(string(page), -1) {
		status, err := strconv.Atoi(row[2])
		must(t, err)
		listed = append(listed, below{row[1], status, row[3]})
	}
	if len(listed) == 0 {
		t.Fatal("docs/errors.md has no list of the HTTP server's answers; did its form change?")
	}
	return listed
}

// belowOf describes an answer that is not the API's.
func belowOf(version, contentType string, status int, body []byte) below {
	kind := contentType
	switch {
	case len(body) == 0:
		kind = "none"
	case strings.HasPrefix(contentType, "text/plain"), contentType == "":
		kind = "plain text"
	case strings.HasPrefix(contentType, "text/html"):
		kind = "HTML"
	}
	return below{version, status, kind}
}

// TestAnswersOfTheHTTPServerAreListed: the answers that are not the API's are
// those of the list in docs/errors.md.
func TestAnswersOfTheHTTPServerAreListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain, secure := serve(t, filepath.Join(dir, "data")), serveTLS(t, dir)
	const line, host = "GET /v1/categories HTTP/1.1\r\n", "Host: pets\r\n"
	seen := []below{}
	for name, c := range map[string]struct {
		s    *server
		text string
	}{
		"no HTTP":            {plain, "hello\r\n\r\n"},
		"no host":            {plain, line + "\r\n"},
		"two hosts":          {plain, line + host + host + "\r\n"},
		"two lengths":        {plain, line + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"},
		"broken header":      {plain, line + host + "A B: c\r\n\r\n"},
		"expectation":        {plain, line + host + "Expect: more\r\n\r\n"},
		"expectation in 1.0": {plain, "GET /v1/categories HTTP/1.0\r\nExpect: more\r\n\r\n"},
		"headers":            {plain, line + host + "A: " + strings.Repeat("b", 16<<10) + "\r\n\r\n"},
		"coding":             {plain, line + host + "Transfer-Encoding: gzip\r\n\r\n"},
		"version":            {plain, "GET / HTTP/3.0\r\n" + host + "\r\n"},
		"no TLS":             {secure, line + host + "\r\n"},
	} {
		status, header, body := say(t, c.s, c.text)
		if header.Get("X-Request-Id") != "" || header.Get("X-RateLimit-Limit") != "" {
			t.Errorf("%s: the API answers: %d %s", name, status, body)
		}
		seen = append(seen, belowOf(one, header.Get("Content-Type"), status, body))
	}
	seen = append(seen, forbiddenHeader(t, secure), manyHeaders(t, secure))

	listed := listedBelow(t)
	for _, b := range seen {
		if !slices.Contains(listed, b) {
			t.Errorf("docs/errors.md does not list %+v", b)
		}
	}
	for _, b := range listed {
		if !slices.Contains(seen, b) {
			t.Errorf("docs/errors.md lists %+v, which was not seen", b)
		}
	}
}

// say sends a text and returns the answer.
func say(t testing.TB, s *server, text string) (status int, header http.Header, body []byte) {
	t.Helper()
	_, address, _ := strings.Cut(s.api, "://")
	conn, err := net.Dial("tcp", address)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(conn, text)
	must(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, res.Header, body
}

// forbiddenHeader sends one over HTTP/2, which Go's client passes on.
func forbiddenHeader(t *testing.T, s *server) below {
	t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.api+"/v1/categories", nil)
	must(t, err)
	r.Header.Set("TE", "gzip")
	res, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Do(r)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	if res.ProtoMajor != 2 || res.Header.Get("X-Request-Id") != "" {
		t.Errorf("%s: the API answers: %s", res.Proto, body)
	}
	return belowOf(two, res.Header.Get("Content-Type"), res.StatusCode, body)
}

// manyHeaders sends too many over HTTP/2 by curl, which does not heed what the
// server says of its limit.
func manyHeaders(t *testing.T, s *server) below {
	t.Helper()
	status, contentType, body := curlHeader(t, s, 13<<10)
	return belowOf(two, contentType, status, body)
}

func curlHeader(t *testing.T, s *server, size int) (status int, contentType string, body []byte) {
	t.Helper()
	tooltest.Find(t, "curl", "curl")
	args := []string{"-sSk", "--http2", "--max-time", "10", "-w", "\n%{http_code} %{http_version} %{content_type}", s.api + "/v1/categories"}
	// One that is too large alone ends the connection.
	for ; size > 0; size -= 4 << 10 {
		args = append(args, "-H", "A: "+strings.Repeat("b", min(size, 4<<10)-33)) // it counts 33 more
	}
	out, err := exec.Command("curl", args...).Output()
	must(t, err)
	end := strings.LastIndexByte(string(out), '\n')
	var version string
	_, err = fmt.Sscan(string(out[end+1:]), &status, &version, &contentType)
	must(t, err)
	if version != "2" {
		t.Errorf("curl spoke HTTP/%s", version)
	}
	return status, contentType, out[:end]
}

// TestHeadersMayHaveWhatIsPromised: what docs/errors.md says of their size is true
// to the byte over HTTP/1.1, and over HTTP/2 but for what curl adds.
func TestHeadersMayHaveWhatIsPromised(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain, secure := serve(t, filepath.Join(dir, "data")), serveTLS(t, dir)
	const begin, end = "GET /v1/categories HTTP/1.1\r\nHost: pets\r\nA: ", "\r\n\r\n"
	for size, want := range map[int]int{16 << 10: http.StatusUnauthorized, 16<<10 + 1: http.StatusRequestHeaderFieldsTooLarge} {
		status, _, _ := say(t, plain, begin+strings.Repeat("b", size-len(begin)-len(end))+end)
		if status != want {
			t.Errorf("%d bytes are answered %d, want %d", size, status, want)
		}
	}
	const others = 512 // at most: method, scheme, authority, path, user agent, accept
	for size, want := range map[int]int{12<<10 - others: http.StatusUnauthorized, 12<<10 + others: http.StatusRequestHeaderFieldsTooLarge} {
		if status, _, _ := curlHeader(t, secure, size); status != want {
			t.Errorf("%d bytes over HTTP/2 are answered %d, want %d", size, status, want)
		}
	}
}
