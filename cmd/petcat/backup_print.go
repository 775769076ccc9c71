package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"petcat/internal/backup"
	"petcat/internal/clock"
)

// report is what backup, restore and verify say in the end.
type report struct {
	backup.Header
	File     string    `json:"file,omitempty"`
	Place    string    `json:"place,omitempty"` // what was restored into
	Size     int64     `json:"size,omitempty"`  // of the file, in bytes
	Seconds  float64   `json:"seconds"`
	Findings *[]string `json:"findings,omitempty"` // of verify alone

	verb, done string // for people
}

// printReport says what was done.
func (p *program) printReport(to io.Writer, r report, asJSON, quiet bool) error {
	switch {
	case asJSON:
		return p.printJSON(r)
	case quiet:
		return nil
	}
	people := *p
	people.stdout = to
	size := ""
	if r.Size > 0 {
		size = ", " + grouped(r.Size) + " bytes"
	}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	if err := people.say("%s %s data of %s, revision %s, %s%s, in %s.",
		r.verb, r.Environment, timestamp(r.TakenAt), grouped(int64(r.Revision)), r.done, size, took); err != nil {
		return err
	}
	var rows [][]string
	for _, k := range backup.Kinds() {
		rows = append(rows, []string{strings.ReplaceAll(k.String(), "_", " "), fmt.Sprintf("%13s", grouped(r.Rows[k]))})
	}
	return people.printColumns(rows)
}

// grouped writes a number with commas between the thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

const (
	barWidth = 24
	// drawEvery is how often a terminal is drawn to, sayEvery how often a line is
	// written where nobody watches.
	drawEvery = 100 * time.Millisecond
	sayEvery  = 5 * time.Second
	// lookEvery is after how many rows the clock is read.
	lookEvery = 128
)

// progress shows on stderr how far something is: a bar on a terminal, and else a
// line now and then.
type progress struct {
	to       io.Writer // nil: nothing is shown
	clock    clock.Clock
	terminal bool
	verb     string // what was done to the rows
	total    int64
	done     int64
	begun    clock.Reading
	shown    clock.Reading
	drawn    bool // there is a bar to be wiped away
}

func (p *program) newProgress(verb string, show bool) *progress {
	b := &progress{verb: verb, clock: p.clock, terminal: p.isTerminal(p.stderr)}
	if show {
		b.to = p.stderr
	}
	return b
}

// begin is called when the number of rows is known.
func (b *progress) begin(total int64) {
	b.total, b.begun = total, b.clock.Read()
	b.shown = b.begun
}

// step is called after every row.
func (b *progress) step() {
	if b.done++; b.to == nil || b.done%lookEvery != 0 {
		return
	}
	every := sayEvery
	if b.terminal {
		every = drawEvery
	}
	now := b.clock.Read()
	if now.Since(b.shown) < every {
		return
	}
	b.shown = now
	text := b.text(now)
	if !b.terminal {
		_, _ = fmt.Fprintln(b.to, text)
		return
	}
	full := int(barWidth * min(b.done, b.total) / max(b.total, 1))
	_, _ = fmt.Fprintf(b.to, "\r[%s%s] %s\x1b[K", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), text)
	b.drawn = true
}

// text says how far it is, such as: 50%, 500,000 of 1,000,000 rows copied,
// 120,000/s, 4s left.
func (b *progress) text(now clock.Reading) string {
	took := max(now.Since(b.begun), time.Millisecond)
	rate := float64(b.done) / took.Seconds()
	left := time.Duration(float64(max(b.total-b.done, 0)) / rate * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%3d%%, %s of %s rows %s, %s/s, %s left",
		100*min(b.done, b.total)/max(b.total, 1), grouped(b.done), grouped(b.total), b.verb, grouped(int64(rate)), left)
}

// end wipes the bar away: what was done is said by others.
func (b *progress) end() {
	if b.drawn {
		_, _ = io.WriteString(b.to, "\r\x1b[K")
	}
}
