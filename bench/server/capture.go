package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"time"
)

// Answer is an answer as it came over the wire.
type Answer struct {
	Status    int
	Header    []string // "Name: value", in the spelling and order of the server
	Body      []byte
	FirstByte time.Duration // from the request until the first byte of the answer
}

// Get returns the value of a header.
func (a Answer) Get(name string) string {
	for _, line := range a.Header {
		if key, value, _ := strings.Cut(line, ": "); strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// Size returns the bytes of header and body.
func (a Answer) Size() int64 {
	n := len("HTTP/1.1 200 OK\r\n") + len("\r\n") + len(a.Body)
	for _, line := range a.Header {
		n += len(line) + len("\r\n")
	}
	return int64(n)
}

// Ask sends one request over a connection of its own. A library's client would
// change the spelling of the headers, and unpack the body.
func Ask(ctx context.Context, method, url string, header []string, body []byte) (Answer, error) {
	return ask(ctx, method, url, header, body, func(r io.Reader) ([]byte, error) { return io.ReadAll(r) })
}

// Glance asks like Ask, and hangs up when the body begins: taking a long one
// would keep both sides busy with what is not to be measured.
func Glance(ctx context.Context, url string, header []string) (Answer, error) {
	return ask(ctx, http.MethodGet, url, header, nil, func(io.Reader) ([]byte, error) { return nil, nil })
}

func ask(ctx context.Context, method, url string, header []string, body []byte, take func(io.Reader) ([]byte, error)) (Answer, error) {
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(readyTimeout)); err != nil {
		return Answer{}, err
	}
	var request bytes.Buffer
	fmt.Fprintf(&request, "%s /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", method, path, host)
	if body != nil {
		fmt.Fprintf(&request, "Content-Length: %d\r\n", len(body))
	}
	for _, line := range header {
		request.WriteString(line + "\r\n")
	}
	request.WriteString("\r\n")
	request.Write(body)
	begun := time.Now()
	if _, err := conn.Write(request.Bytes()); err != nil {
		return Answer{}, err
	}
	r := bufio.NewReader(conn)
	a, err := readHead(r, begun)
	if err != nil || method == http.MethodHead || a.Status == http.StatusNotModified {
		return a, err
	}
	rest, err := a.body(r)
	if err == nil {
		a.Body, err = take(rest)
	}
	return a, err
}

// readHead reads an answer up to its body.
func readHead(r *bufio.Reader, begun time.Time) (a Answer, err error) {
	if _, err := r.Peek(1); err != nil {
		return a, err
	}
	a.FirstByte = time.Since(begun)
	lines := textproto.NewReader(r)
	status, err := lines.ReadLine()
	if err != nil {
		return a, err
	}
	if _, err := fmt.Sscanf(status, "HTTP/1.1 %d", &a.Status); err != nil {
		return a, fmt.Errorf("not a status line: %q", status)
	}
	for {
		line, err := lines.ReadLine()
		if err != nil || line == "" {
			return a, err
		}
		a.Header = append(a.Header, line)
	}
}

// body returns what is to be read of the body.
func (a Answer) body(r io.Reader) (io.Reader, error) {
	length := a.Get("Content-Length")
	switch {
	case length != "":
		n, err := strconv.ParseInt(length, 10, 64)
		return io.LimitReader(r, n), err
	case strings.EqualFold(a.Get("Transfer-Encoding"), "chunked"):
		return httputil.NewChunkedReader(r), nil
	default:
		return r, nil // the end of the connection is the end of the body
	}
}

// own are headers that a server writes by itself.
func own(line string) bool {
	name, _, _ := strings.Cut(line, ":")
	return strings.EqualFold(name, "Date") || strings.EqualFold(name, "Connection")
}

// Keep writes an answer to files, so that another server can give the same.
func (a Answer) Keep(headerFile, bodyFile string) error {
	var header bytes.Buffer
	for _, line := range a.Header {
		if !own(line) {
			header.WriteString(line + "\n")
		}
	}
	if err := os.WriteFile(headerFile, header.Bytes(), 0o600); err != nil {
		return err
	}
	return os.WriteFile(bodyFile, a.Body, 0o600)
}

// Additional returns the headers but those that a server of static files
// writes by itself.
func (a Answer) Additional() []string {
	var lines []string
	for _, line := range a.Header {
		name, _, _ := strings.Cut(line, ":")
		if !own(line) && !strings.EqualFold(name, "Content-Type") && !strings.EqualFold(name, "Content-Length") {
			lines = append(lines, line)
		}
	}
	return lines
}
