package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"petcat/internal/backup"
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
