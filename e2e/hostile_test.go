package e2e

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	rules "github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/apicheck"
)

// raw sends bytes, and returns the status of the first response, 0 if the server closes the connection.
func (n *node) raw(text string) (status int) {
	n.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(n.api, "http://"))
	must(n.t, err)
	defer func() { _ = conn.Close() }()
	must(n.t, conn.SetDeadline(time.Now().Add(patience)))
	sent := time.Now().Unix()
	go func() { _, _ = io.WriteString(conn, text) }() // the server may close the connection
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	if res.Header.Get("X-Request-Id") != "" { // else it did not reach the API
		body, err := io.ReadAll(res.Body)
		must(n.t, err)
		for _, problem := range apicheck.Problems(res, body, sent, time.Now().Unix()) {
			n.t.Errorf("%.50q: %s", text, problem)
		}
	}
	return res.StatusCode
}

// TestHostile: no request causes an unexpected 5xx, an ERROR line or a panic, and good clients are
// served.
func TestHostile(t *testing.T) {
	t.Parallel()
	place := directory(t)
	k := newKey(t, place, "acme", unlimited...)
	n := serve(t, place)
	const get, post = "GET /v1/categories HTTP/1.1\r\nHost: pets\r\n", "POST /v1/categories HTTP/1.1\r\nHost: pets\r\n"
	authorized := post + "Authorization: Bearer " + k.Key + "\r\n"
	big := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		text string
		want []int
	}{
		{"hello\r\n\r\n", []int{400}},
		{"GET /\x00 HTTP/1.1\r\nHost: pets\r\n\r\n", []int{400}},
		{get + "A: b\x00c\r\n\r\n", []int{400}},
		{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400}},
		{"GET /v1/categories HTTP/9.9\r\nHost: pets\r\n\r\n", []int{505}},
		{"GET /v1/categories HTTP/1.1\r\n\r\n", []int{400}},
		{get + "Host: other\r\n\r\n", []int{400}},
		{get + "A: " + big + "\r\n\r\n", []int{431, 0}},
		{get + "Authorization: Bearer " + big + "\r\n\r\n", []int{431, 0}},
		{"GET /" + big + " HTTP/1.1\r\nHost: pets\r\n\r\n", []int{431, 0}},
		{get + "A : b\r\n\r\n", []int{400}},
		{post + "Content-Length: 2\r\n\r\n{}", []int{401}},
		{authorized + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", []int{400}},
		{authorized + "Content-Length: -1\r\n\r\n", []int{400}},
		{authorized + "Content-Length: 99999999999999999999\r\n\r\n", []int{400}},
		{authorized + "Content-Length: 1048577\r\n\r\n{}", []int{413}},
		{authorized + "Transfer-Encoding: gzip\r\n\r\n{}", []int{501}},
		{authorized + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", []int{400}},
		{authorized + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{}\r\n", []int{400}},
		{"GET /v1/%zz HTTP/1.1\r\nHost: pets\r\n\r\n", []int{400}},
		{"GET /v1/../etc/passwd HTTP/1.1\r\nHost: pets\r\n\r\n", []int{401, 404}},
		{"GET /docs/../../etc/passwd HTTP/1.1\r\nHost: pets\r\n\r\n", []int{404}},
		{"CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example:443\r\n\r\n", []int{400, 404, 405}},
		{"TRACE /v1/categories HTTP/1.1\r\nHost: pets\r\n\r\n", []int{401}},
	} {
		if status := n.raw(c.text); !slices.Contains(c.want, status) {
			t.Errorf("%.70q got %d, want one of %v", c.text, status, c.want)
		}
	}
	eventually(t, "an address that guesses keys is rejected", func() bool {
		for range 100 {
			if n.list("pck_live_wrong").code() == rules.CodeTooManyFailedAttempts {
				return true
			}
		}
		return false
	})
	n.list(k.Key).want(t, http.StatusOK)
	n.create(k.Key, "dog").want(t, http.StatusCreated)
	n.stop()
	for _, bad := range []string{"panic", `"status":5`, `"level":"ERROR"`, `"stack"`} {
		if strings.Contains(n.log.String(), bad) {
			t.Errorf("the log contains %s:\n%s", bad, n.log.events())
		}
	}
}
