package wrk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Pump does what Run does, for requests without a body and in this process. wrk
// waits for the body of a response to HEAD, which never comes. Its rates are
// lower than wrk's, so they are only comparable among themselves.
func Pump(ctx context.Context, r Request, l Load) (Result, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return Result{}, err
	}
	lines := append([]string{r.Method + " " + u.RequestURI() + " HTTP/1.1", "Host: " + u.Host}, r.Header...)
	request := []byte(strings.Join(lines, "\r\n") + "\r\n\r\n")

	var (
		all    []time.Duration
		total  Result
		failed error
		mu     sync.Mutex // guards the above
		wg     sync.WaitGroup
	)
	start := time.Now()
	for range l.Connections {
		wg.Go(func() {
			took, part, err := pumpOne(ctx, u.Host, request, r.Method == "HEAD", start.Add(l.Duration))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			total.Bytes += part.Bytes
			total.Errors.Status += part.Errors.Status
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	total.Duration = time.Since(start)
	total.Requests = int64(len(all))
	if failed != nil || len(all) == 0 {
		return Result{}, fmt.Errorf("pump: %s got %d answers: %w", r.URL, len(all), failed)
	}
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[int(q*float64(len(all)-1))] }
	total.P50, total.P90, total.P99, total.P999, total.Max = at(0.5), at(0.9), at(0.99), at(0.999), all[len(all)-1]
	return total, nil
}

func pumpOne(ctx context.Context, host string, request []byte, head bool, until time.Time) ([]time.Duration, Result, error) {
	var dialer net.Dialer
	var part Result
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, part, err
	}
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	var took []time.Duration
	for begun := time.Now(); begun.Before(until) && ctx.Err() == nil; {
		if _, err := conn.Write(request); err != nil {
			return took, part, err
		}
		status, size, err := readAnswer(reader, head)
		if err != nil {
			return took, part, err
		}
		if status >= 400 {
			part.Errors.Status++
		}
		part.Bytes += size
		now := time.Now()
		took = append(took, now.Sub(begun))
		begun = now
	}
	return took, part, nil
}

// readAnswer reads an answer and passes over its body.
func readAnswer(r *bufio.Reader, head bool) (status int, size int64, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, 0, fmt.Errorf("not a status line: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, err
	}
	size = int64(len(line))
	var length int64
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return 0, 0, err
		}
		size += int64(len(line))
		if len(line) <= len("\r\n") {
			break
		}
		const name = "content-length:"
		if len(line) > len(name) && strings.EqualFold(string(line[:len(name)]), name) {
			if length, err = strconv.ParseInt(strings.TrimSpace(string(line[len(name):])), 10, 64); err != nil {
				return 0, 0, err
			}
		}
	}
	if head || length == 0 {
		return status, size, nil
	}
	n, err := io.CopyN(io.Discard, r, length)
	return status, size + n, err
}
