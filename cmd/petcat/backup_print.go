package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"petcat/internal/backup"
)

// report is the result of backup, restore and verify.
type report struct {
	backup.Header
	File     string    `json:"file,omitempty"`
	Place    string    `json:"place,omitempty"` // where the backup was restored
	Size     int64     `json:"size,omitempty"`  // of the file, in bytes
	Seconds  float64   `json:"seconds"`
	Findings *[]string `json:"findings,omitempty"` // only from verify

	verb, done string // parts of the sentence without --json
}

// printReport prints a report, and the numbers of rows.
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
		size = ", " + humanize.Comma(r.Size) + " bytes"
	}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	if err := people.say("%s %s data of %s, revision %s, %s%s, in %s.",
		r.verb, r.Environment, timestamp(r.TakenAt), humanize.Comma(int64(r.Revision)), r.done, size, took); err != nil {
		return err
	}
	var rows [][]string
	for _, k := range backup.Kinds() {
		rows = append(rows, []string{strings.ReplaceAll(k.String(), "_", " "), fmt.Sprintf("%13s", humanize.Comma(r.Rows[k]))})
	}
	return people.printColumns(rows)
}
