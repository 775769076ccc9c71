package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ErrRefused is an error that the server answered.
var ErrRefused = errors.New("the server refused")

// Do runs one command on a connection of its own, and returns the answer as
// text: a list's elements are separated by line feeds.
func (s *Server) Do(args ...string) (string, error) { return s.DoAs("", args...) }

func (s *Server) dial() (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", s.Address(), time.Second)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(2 * time.Second))
}

func ask(conn net.Conn, r *bufio.Reader, args ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return "", err
	}
	return readReply(r)
}

// MustDo is Do for commands that must succeed.
func (s *Server) MustDo(args ...string) string {
	s.tb.Helper()
	reply, err := s.Do(args...)
	if err != nil {
		s.tb.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return reply
}

func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, rest := line[0], strings.TrimRight(line[1:], "\r\n")
	switch kind {
	case '+', ':':
		return rest, nil
	case '-':
		return "", fmt.Errorf("%w: %s", ErrRefused, rest)
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return "", fmt.Errorf("an answer that begins %q", line)
	}
	switch {
	case n < 0:
		return "", nil
	case kind == '$':
		text := make([]byte, n+2)
		_, err := io.ReadFull(r, text)
		return string(text[:n]), err
	case kind == '*':
		parts := make([]string, n)
		for i := range parts {
			if parts[i], err = readReply(r); err != nil && !errors.Is(err, ErrRefused) {
				return "", err
			}
		}
		return strings.Join(parts, "\n"), nil
	default:
		return "", fmt.Errorf("an answer that begins %q", line)
	}
}

// DoAs is Do after signing in with a password, unless that is empty.
func (s *Server) DoAs(password string, args ...string) (string, error) {
	conn, err := s.dial()
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	r := bufio.NewReader(conn)
	if password != "" {
		if _, err := ask(conn, r, "AUTH", password); err != nil {
			return "", err
		}
	}
	return ask(conn, r, args...)
}
