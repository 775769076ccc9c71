// Package wrk drives servers with wrk, an independent HTTP load generator, and reads
// what it measured. [Pump] sends the HEAD requests, which wrk cannot send.
package wrk

import (
	"bytes"
	"context"
	_ "embed" // load.lua
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed load.lua
var script []byte

// threads is how many threads wrk runs, when there are as many connections.
const threads = 2

// Request is what is sent again and again.
type Request struct {
	Method   string
	URL      string
	Header   []string // "Name: value"; [Unique] becomes something else in each request
	BodyFile string   // "" for no body
}

// Unique in a header's value stands for something that no other request of any run
// has.
const Unique = "{unique}"

// Errors counts what did not go well. Status counts answers of 400 and above.
type Errors struct {
	Connect, Read, Write, Status, Timeout int64
}

// Broken returns the requests that got no answer.
func (e Errors) Broken() int64 { return e.Connect + e.Read + e.Write + e.Timeout }

// Result is what one run measured.
type Result struct {
	Requests int64
	Duration time.Duration
	Bytes    int64 // received, headers and unfinished answers included
	Errors   Errors

	P50, P90, P99, P999, Max time.Duration
}

// Rate returns the answers per second. For answers of size bytes that are so
// large that few are finished in a run, it counts bytes instead, so that those
// which the run's end cuts off count as far as they got.
func (r Result) Rate(size int64) float64 {
	n := float64(r.Requests)
	if size > largeAnswer {
		n = float64(r.Bytes) / float64(size)
	}
	return n / r.Duration.Seconds()
}

// largeAnswer is where counting bytes begins to be better than counting
// answers: with 64 connections, 64 answers are cut off at a run's end, which is
// a hundredth of those that are finished in a second at this size.
const largeAnswer = 128 << 10

// Load says how to send a request.
type Load struct {
	Program     string // the path of wrk
	Connections int
	Duration    time.Duration // whole seconds, for wrk
	// Dir is where the script may be put.
	Dir string
}

// Run runs wrk once.
func Run(ctx context.Context, r Request, l Load) (Result, error) {
	file := filepath.Join(l.Dir, "load.lua")
	if err := os.WriteFile(file, script, 0o600); err != nil {
		return Result{}, err
	}
	seconds := max(1, int(l.Duration.Round(time.Second).Seconds()))
	body := r.BodyFile
	if body == "" {
		body = "-"
	}
	args := []string{
		"--threads", strconv.Itoa(min(threads, l.Connections)),
		"--connections", strconv.Itoa(l.Connections),
		"--duration", strconv.Itoa(seconds) + "s",
		// A list of a million takes seconds when 64 ask for it at once.
		"--timeout", "60s",
		"--latency", "--script", file, r.URL, "--", r.Method, body,
	}
	unique := strconv.FormatInt(time.Now().UnixNano(), 36) + "-{n}"
	for _, line := range r.Header {
		args = append(args, strings.ReplaceAll(line, Unique, unique))
	}
	cmd := exec.CommandContext(ctx, l.Program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return Result{}, fmt.Errorf("wrk: %w: %s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	result, err := Parse(stdout.String())
	if err != nil {
		return Result{}, err
	}
	if broken := result.Errors.Broken(); broken > 0 {
		return Result{}, fmt.Errorf("wrk: %d requests of %d to %s got no answer: %+v", broken, result.Requests, r.URL, result.Errors)
	}
	return result, nil
}

// Parse reads the line that the script prints.
func Parse(output string) (Result, error) {
	for line := range strings.Lines(output) {
		text, found := strings.CutPrefix(line, "result ")
		if !found {
			continue
		}
		var raw struct {
			Requests, Micros, Bytes  int64
			Errors                   Errors
			P50, P90, P99, P999, Max int64
		}
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			return Result{}, fmt.Errorf("wrk: read its result: %w", err)
		}
		if raw.Requests == 0 && raw.Bytes == 0 || raw.Micros <= 0 {
			return Result{}, fmt.Errorf("wrk: it got no answer: %s", text)
		}
		micros := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
		return Result{
			Requests: raw.Requests, Duration: micros(raw.Micros), Bytes: raw.Bytes, Errors: raw.Errors,
			P50: micros(raw.P50), P90: micros(raw.P90), P99: micros(raw.P99), P999: micros(raw.P999), Max: micros(raw.Max),
		}, nil
	}
	return Result{}, fmt.Errorf("wrk: no result in its output: %q", output)
}
