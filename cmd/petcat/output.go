package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
)

// jsonFlag adds --json to a command that prints data.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print one JSON document and nothing else")
}

// printJSON writes v as the only thing on stdout.
func (p *program) printJSON(v any) error {
	e := json.NewEncoder(p.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// printTable writes rows under a header, in aligned columns.
func (p *program) printTable(header []string, rows [][]string) error {
	return p.printColumns(append([][]string{header}, rows...))
}

// list is the output of a list command: documents for --json, rows for the table.
type list struct {
	header    []string
	documents []any
	rows      [][]string
}

func (l *list) add(document any, row ...string) {
	l.documents = append(l.documents, document)
	l.rows = append(l.rows, row)
}

// printList prints a list. none is the sentence for an empty table.
func (p *program) printList(l list, asJSON bool, none string) error {
	switch {
	case asJSON:
		return p.printJSON(append([]any{}, l.documents...))
	case len(l.rows) == 0:
		return p.say("%s", none)
	default:
		return p.printTable(l.header, l.rows)
	}
}

// printColumns writes rows in aligned columns. Cells are made printable.
func (p *program) printColumns(rows [][]string) error {
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				_, _ = io.WriteString(w, "\t") // Flush returns its error
			}
			_, _ = io.WriteString(w, printable(cell))
		}
		_, _ = io.WriteString(w, "\n")
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// say writes one line to stdout. It is made printable.
func (p *program) say(format string, args ...any) error {
	if _, err := fmt.Fprintln(p.stdout, printable(fmt.Sprintf(format, args...))); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// sayParagraph is say with an empty line before it.
func (p *program) sayParagraph(format string, args ...any) error {
	if err := p.say(""); err != nil {
		return err
	}
	return p.say(format, args...)
}

// counted returns a number with its noun, such as: 1,502 rows.
func counted(n int64, one, several string) string {
	return humanize.Comma(n) + " " + english.PluralWord(int(n), one, several)
}

// printable returns s with everything escaped that could make a terminal do more than show
// it: control characters, which begin escape sequences; marks that change the direction of
// text; line breaks; and bytes that are not UTF-8.
func printable(s string) string {
	dangerous := func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
	}
	if utf8.ValidString(s) && strings.IndexFunc(s, dangerous) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case dangerous(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// timestamp returns a time as it is printed: RFC 3339, UTC, whole seconds, rounded down.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// timestampAfter is timestamp rounded up. It is for the end of a span, which must not be
// printed as the same second as its beginning.
func timestampAfter(t time.Time) string { return timestamp(t.Add(time.Second - time.Nanosecond)) }

// timestampOr returns otherwise for the zero time.
func timestampOr(t time.Time, otherwise string) string {
	if t.IsZero() {
		return otherwise
	}
	return timestamp(t)
}

// nullableTime returns a time for JSON: null if it is zero.
func nullableTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := timestamp(t)
	return &s
}

// nullable returns a value for JSON: null if it is zero.
func nullable[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// maxLine is how many bytes of a line a terminal passes on at most (Linux).
const maxLine = 4096

// readLine reads up to the end of a line or maxLine bytes, byte by byte so that nothing after
// the line is consumed.
func readLine(r io.Reader) (string, error) {
	var line []byte
	var one [1]byte
	for len(line) < maxLine {
		n, err := r.Read(one[:])
		if n == 1 && one[0] == '\n' || errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		line = append(line, one[:n]...)
	}
	return strings.TrimSpace(string(line)), nil
}
