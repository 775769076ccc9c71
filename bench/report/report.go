// Package report holds what a run of the benchmarks found, and writes it for
// people (a table) and for programs (JSON).
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Result is everything that one run found.
type Result struct {
	Date     string   `json:"date"` // as in 2026-01-31
	Revision string   `json:"revision"`
	Quick    bool     `json:"quick"` // too short to be believed
	Settings Settings `json:"settings"`
	Machine  Machine  `json:"machine"`
	Programs []Peer   `json:"programs"`
	Rows     []Row    `json:"rows"`
	Samples  []Sample `json:"samples"`
}

// Settings is how it was measured.
type Settings struct {
	Rounds  int `json:"rounds"`
	Seconds int `json:"seconds"` // of each round
}

// Peer is a program that took part, or why it could not.
type Peer struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Absent  string `json:"absent,omitempty"`
}

// Sample is one round of one server.
type Sample struct {
	Group       string  `json:"group"`
	Subject     string  `json:"subject"` // whose answer it is, and what was asked
	Categories  int     `json:"categories,omitempty"`
	Connections int     `json:"connections"`
	Round       int     `json:"round"`
	Rate        float64 `json:"rate"`         // answers per second
	CPU         float64 `json:"cpu_us"`       // microseconds of the server's processor time per answer
	P50         float64 `json:"p50_us"`       // microseconds
	P99         float64 `json:"p99_us"`       // microseconds
	PeakMemory  float64 `json:"peak_mib"`     // of the server, so far
	LoadGen     string  `json:"generator"`    // wrk, or pump or offer for what wrk cannot send
	AnswerSize  int64   `json:"answer_bytes"` // header and body
	// Offered is how many requests were sent each second, where that did not depend on
	// the answers, and Refused how many of them were refused.
	Offered float64 `json:"offered,omitempty"`
	Refused float64 `json:"refused,omitempty"`
	// Meters are what else was counted during the round, per second.
	Meters map[string]float64 `json:"per_second,omitempty"`
}

// Median returns the middle of the values, the mean of the two in the middle
// when there are as many on both sides; 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Ratios divides round by round, so that what changed on the machine from one
// round to the next is in both and cancels out.
func Ratios(ours, theirs []float64) []float64 {
	ratios := make([]float64, 0, len(ours))
	for i := range min(len(ours), len(theirs)) {
		if theirs[i] != 0 {
			ratios = append(ratios, ours[i]/theirs[i])
		}
	}
	return ratios
}

// Write writes the result to a directory, as JSON and as Markdown.
func (r Result) Write(dir, name string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for everybody to read
		return err
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	page, err := r.Markdown()
	if err != nil {
		return err
	}
	for file, content := range map[string]string{name + ".json": string(text) + "\n", name + ".md": page} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil { //nolint:gosec // for everybody to read
			return err
		}
	}
	return nil
}

// Read reads what Write wrote.
func Read(file string) (Result, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Result{}, err
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return Result{}, fmt.Errorf("read %s: %w", file, err)
	}
	return r, nil
}
