package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"petcat"
)

// auditJSON is an entry of the audit log as --json prints it.
type auditJSON struct {
	Sequence int64           `json:"sequence"`
	At       string          `json:"at"`
	Actor    string          `json:"actor"`
	Action   string          `json:"action"`
	Subject  string          `json:"subject"`
	Detail   json.RawMessage `json:"detail"`
	Hash     string          `json:"hash"`
}

// auditTime prints milliseconds: the hashes cover times in that precision.
const auditTime = "2006-01-02T15:04:05.000Z07:00"

func auditDocument(e petcat.AuditEntry) auditJSON {
	d := auditJSON{
		Sequence: e.Sequence, At: e.At.UTC().Format(auditTime), Actor: string(e.Actor),
		Action: e.Action, Subject: e.Subject, Detail: json.RawMessage(e.Detail), Hash: hex.EncodeToString(e.Hash[:]),
	}
	if !json.Valid(d.Detail) { // only if somebody altered the entry
		d.Detail, _ = json.Marshal(e.Detail) // never fails for a string
	}
	return d
}

// printAudit prints each entry when it is read, because there may be very many. So the
// columns have fixed widths.
func (p *program) printAudit(asJSON bool, each func(func(petcat.AuditEntry) error) error) error {
	w := bufio.NewWriter(p.stdout)
	line := auditLine
	if asJSON {
		line = auditElement
		_, _ = w.WriteString("[") // Flush returns its error
	}
	n := 0
	err := each(func(e petcat.AuditEntry) error {
		n++
		return line(w, e, n)
	})
	if err != nil {
		return err
	}
	if asJSON {
		_, _ = w.WriteString("\n]\n")
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if n == 0 && !asJSON {
		return p.say("The audit log has no such entries.")
	}
	return nil
}

// auditElement writes the n-th element of an array.
func auditElement(w io.Writer, e petcat.AuditEntry, n int) error {
	text, err := json.MarshalIndent(auditDocument(e), "  ", "  ")
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	separator := ","
	if n == 1 {
		separator = ""
	}
	_, err = fmt.Fprintf(w, "%s\n  %s", separator, text)
	return err
}

// auditLine writes the n-th line, and the header before the first one.
func auditLine(w io.Writer, e petcat.AuditEntry, n int) error {
	const columns = "%8s  %-24s  %-16s  %-16s  %-16s  %s"
	var header string
	if n == 1 {
		header = fmt.Sprintf(columns, "SEQUENCE", "AT", "ACTOR", "ACTION", "SUBJECT", "DETAIL") + "\n"
	}
	row := fmt.Sprintf(columns, fmt.Sprint(e.Sequence), e.At.UTC().Format(auditTime),
		printable(string(e.Actor)), printable(e.Action), printable(e.Subject), printable(e.Detail))
	_, err := io.WriteString(w, header+strings.TrimRight(row, " ")+"\n")
	return err
}

// auditReport is the result of audit verify.
type auditReport struct {
	Entries      int64    `json:"entries"`
	Head         string   `json:"head"`
	LastSequence int64    `json:"last_sequence"`
	LastHash     string   `json:"last_hash"`
	Findings     []string `json:"findings"`
}

func (p *program) printAuditReport(r auditReport, head petcat.AuditHead, asJSON bool) error {
	r.Head, r.LastSequence, r.LastHash = head.String(), head.Sequence, hex.EncodeToString(head.Hash[:])
	var err error
	if asJSON {
		err = p.printJSON(r)
	} else {
		err = p.say("Checked %s of the audit log; its head is %s.", counted(r.Entries, "entry", "entries"), r.Head)
	}
	if err != nil {
		return err
	}
	return p.printFindings(r.Findings, asJSON, false)
}
