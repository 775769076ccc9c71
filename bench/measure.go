package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// connections is the number of concurrent clients in every measurement.
const connections = 64

// subject is one side of a comparison.
type subject struct {
	name string
	unit string
	// measure runs for d and returns the result in the subject's unit, usually a rate.
	measure func(ctx context.Context, d time.Duration) (float64, error)
}

// series is the results of a subject's rounds.
type series struct {
	name, unit string
	values     []float64
}

// interleave measures subjects in the order A B C A B C, so that other load on the machine
// affects all of them.
func (b *bench) interleave(ctx context.Context, subjects ...subject) ([]series, error) {
	all := make([]series, len(subjects))
	for round := range b.rounds + 1 { // the first is a warm-up
		for i, s := range subjects {
			value, err := s.measure(ctx, b.duration)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			if round > 0 {
				say("   round %d of %d: %-50s %12s", round, b.rounds, s.name, format(value, s.unit))
				all[i].name, all[i].unit, all[i].values = s.name, s.unit, append(all[i].values, value)
			}
		}
	}
	return all, nil
}

// request is the request that a measurement repeats.
type request struct {
	method, url string
	header      []string // "Name: value"
	body        string
	status      int // the expected status
}

// response is the response to a request.
type response struct {
	header http.Header
	body   []byte
	wire   []byte // the whole response
}

func (r request) headers() http.Header {
	all := http.Header{}
	for _, line := range r.header {
		name, value, _ := strings.Cut(line, ": ")
		all.Set(name, value)
	}
	return all
}

// send sends the request once. A response with another status is an error.
func (r request) send(ctx context.Context) (a response, err error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, strings.NewReader(r.body))
	if err != nil {
		return a, err
	}
	req.Header = r.headers()
	resp, err := client.Do(req)
	if err != nil {
		return a, err
	}
	a.header = resp.Header
	a.wire, err = httputil.DumpResponse(resp, true)
	if err == nil {
		a.body, err = io.ReadAll(resp.Body)
	}
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode != r.status {
		err = fmt.Errorf("%s %s: status %d, want %d: %.300s", r.method, r.url, resp.StatusCode, r.status, a.body)
	}
	return a, err
}

var client = &http.Client{
	Timeout: time.Minute,
	Transport: &http.Transport{
		DisableCompression: true,
		DisableKeepAlives:  true,
		TLSClientConfig:    &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is of this run
	},
}

// wrk is a subject that sends the request with wrk over 64 connections.
func (b *bench) wrk(name string, r request) subject {
	return subject{name, "/s", func(ctx context.Context, d time.Duration) (float64, error) {
		if _, err := r.send(ctx); err != nil {
			return 0, err
		}
		script := filepath.Join(b.work, "request.lua")
		lua := fmt.Sprintf("wrk.method = %q\n", r.method)
		if r.body != "" {
			lua += fmt.Sprintf("wrk.body = %q\n", r.body)
		}
		if err := os.WriteFile(script, []byte(lua), 0o600); err != nil {
			return 0, err
		}
		args := []string{
			"--threads", "2", "--connections", strconv.Itoa(connections), "--timeout", "10s",
			"--duration", fmt.Sprintf("%.0fs", d.Seconds()), "--script", script,
		}
		for _, line := range r.header {
			args = append(args, "--header", line)
		}
		return output(exec.CommandContext(ctx, "wrk", append(args, r.url)...), wrkRate)
	}}
}

// wrkRate reads the rate from wrk's output. Requests without a response, or with a status of
// 400 or above, are an error, because the rate would then measure something else.
func wrkRate(text string) (float64, error) {
	for _, problem := range []string{"Socket errors:", "Non-2xx or 3xx responses:"} {
		if strings.Contains(text, problem) {
			return 0, fmt.Errorf("wrk: %s", text)
		}
	}
	return number(`Requests/sec:\s+([\d.]+)`)(text)
}

// number returns a function that finds a number in a program's output.
func number(pattern string) func(string) (float64, error) {
	return func(text string) (float64, error) {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			return 0, fmt.Errorf("no %s in %s", pattern, text)
		}
		return strconv.ParseFloat(found[1], 64)
	}
}

// output runs a program and reads a number from its output.
func output(cmd *exec.Cmd, read func(string) (float64, error)) (float64, error) {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", cmd.Path, err, out)
	}
	return read(string(out))
}
