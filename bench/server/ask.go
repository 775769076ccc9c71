package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"os"
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
	return int64(len("HTTP/1.1 200 OK\r\n") + len(strings.Join(a.Header, "\r\n")) + len("\r\n\r\n") + len(a.Body))
}

// Ask sends one request over a connection of its own. A library's client would
// change the spelling of the headers, and unpack the body.
func Ask(ctx context.Context, method, url string, header []string, body []byte) (Answer, error) {
	a, rest, err := ask(ctx, method, url, header, body)
	if err != nil {
		return a, err
	}
	defer func() { _ = rest.Close() }()
	reader := io.Reader(rest)
	if strings.EqualFold(a.Get("Transfer-Encoding"), "chunked") {
		reader = httputil.NewChunkedReader(rest)
	}
	a.Body, err = io.ReadAll(reader)
	return a, err
}

// Glance asks like Ask, and hangs up when the body begins: taking a long one
// would keep both sides busy with what is not to be measured.
func Glance(ctx context.Context, url string, header []string) (Answer, error) {
	a, rest, err := ask(ctx, "GET", url, header, nil)
	if err == nil {
		err = rest.Close()
	}
	return a, err
}

// status returns the status of an answer, 0 for none.
func status(ctx context.Context, url string) int {
	a, err := Ask(ctx, "GET", url, nil, nil)
	if err != nil {
		return 0
	}
	return a.Status
}

// answering is a connection of which the header was read. The end of the
// connection is the end of the body.
type answering struct {
	*bufio.Reader
	net.Conn
}

func (a answering) Read(p []byte) (int, error) { return a.Reader.Read(p) }

func ask(ctx context.Context, method, url string, header []string, body []byte) (a Answer, rest io.ReadCloser, err error) {
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return a, nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	if err := conn.SetDeadline(time.Now().Add(readyTimeout)); err != nil {
		return a, nil, err
	}
	lines := append([]string{method + " /" + path + " HTTP/1.1", "Host: " + host, "Connection: close"}, header...)
	if body != nil {
		lines = append(lines, fmt.Sprintf("Content-Length: %d", len(body)))
	}
	begun := time.Now()
	if _, err := conn.Write(append([]byte(strings.Join(lines, "\r\n")+"\r\n\r\n"), body...)); err != nil {
		return a, nil, err
	}
	r := bufio.NewReader(conn)
	if err := a.readHead(r, begun); err != nil {
		return a, nil, err
	}
	return a, answering{r, conn}, nil
}

// readHead reads an answer up to its body.
func (a *Answer) readHead(r *bufio.Reader, begun time.Time) error {
	if _, err := r.Peek(1); err != nil {
		return err
	}
	a.FirstByte = time.Since(begun)
	for first := true; ; first = false {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		switch {
		case first:
			if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &a.Status); err != nil {
				return fmt.Errorf("not a status line: %q", line)
			}
		case line == "":
			return nil
		default:
			a.Header = append(a.Header, line)
		}
	}
}

// without returns the headers but some.
func (a Answer) without(names ...string) (lines []string) {
next:
	for _, line := range a.Header {
		for _, name := range names {
			if key, _, _ := strings.Cut(line, ":"); strings.EqualFold(key, name) {
				continue next
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// Keep writes an answer to files, so that another server can give the same:
// without what every server writes by itself.
func (a Answer) Keep(headerFile, bodyFile string) error {
	var header bytes.Buffer
	for _, line := range a.without("Date", "Connection") {
		header.WriteString(line + "\n")
	}
	if err := os.WriteFile(headerFile, header.Bytes(), 0o600); err != nil {
		return err
	}
	return os.WriteFile(bodyFile, a.Body, 0o600)
}

// Additional returns the headers but those that a server of static files
// writes by itself.
func (a Answer) Additional() []string {
	return a.without("Date", "Connection", "Content-Type", "Content-Length")
}
