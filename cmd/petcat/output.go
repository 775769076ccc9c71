package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// record is what a command prints of one thing: a JSON object, lines, or a row of a table.
type record []field

// field is a member of a record. Its name is that of the JSON member. In text, created_at
// becomes created or CREATED, and per_minute becomes per minute or PER MINUTE.
type field struct {
	name  string
	value any
}

type (
	// shown is a value that has another form in text than in JSON.
	shown struct {
		value any
		text  string
	}
	// textOnly is a value that is not in the JSON object.
	textOnly string
)

// orNone returns a value, or nil if it is zero: null in JSON, and - in text.
func orNone[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// plain returns a value as JSON has it.
func plain(value any) any {
	switch v := value.(type) {
	case shown:
		return plain(v.value)
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return timestamp(v)
	case jsontext.Value: // a Stringer, too
		return v
	case fmt.Stringer:
		return v.String()
	default:
		return v
	}
}

// text returns a value as people see it.
func text(value any) string {
	if v, ok := value.(shown); ok {
		return v.text
	}
	if v := plain(value); v != nil {
		return fmt.Sprint(v)
	}
	return "-"
}

// label returns the name of a field as people see it.
func label(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "_at"), "_", " ")
}

// MarshalJSONTo writes the fields as a JSON object.
func (r record) MarshalJSONTo(e *jsontext.Encoder) error {
	err := e.WriteToken(jsontext.BeginObject)
	for _, f := range r {
		if _, only := f.value.(textOnly); !only {
			err = errors.Join(err, e.WriteToken(jsontext.String(f.name)), json.MarshalEncode(e, plain(f.value)))
		}
	}
	return errors.Join(err, e.WriteToken(jsontext.EndObject))
}

// row returns the text of the named fields.
func (r record) row(names []string) (cells []string) {
	for _, name := range names {
		for _, f := range r {
			if f.name == name {
				cells = append(cells, text(f.value))
			}
		}
	}
	return cells
}

// show prints a record: a JSON document, or one line for each field.
func (c *call) show(r record) error {
	if c.asJSON {
		return c.printJSON(r)
	}
	var lines [][]string
	for _, f := range r {
		lines = append(lines, []string{label(f.name), text(f.value)})
	}
	return c.printColumns(lines)
}

// list prints records: a JSON array, or a table with the named columns, separated by blanks.
// none is the sentence for no records.
func (c *call) list(records []record, columns, none string) error {
	switch {
	case c.asJSON:
		return c.printJSON(records)
	case len(records) == 0:
		return c.say("%s", none)
	}
	names := strings.Fields(columns)
	var header []string
	for _, name := range names {
		header = append(header, strings.ToUpper(label(name)))
	}
	rows := [][]string{header}
	for _, r := range records {
		rows = append(rows, r.row(names))
	}
	return c.printColumns(rows)
}

// showAnd prints a record, and for people a paragraph after it.
func (c *call) showAnd(r record, format string, args ...any) error {
	if err := c.show(r); err != nil || c.asJSON {
		return err
	}
	return c.sayParagraph(format, args...)
}

// listAll opens the data, and prints everything that each reads. of returns nil for what is
// left out.
func listAll[T any](c *call, each func(store, context.Context, func(T) error) error, of func(T) record, columns, none string) error {
	if err := c.read(); err != nil {
		return err
	}
	var records []record
	err := each(c.store, c.ctx(), func(v T) error {
		if r := of(v); r != nil {
			records = append(records, r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.list(records, columns, none)
}

// print prints the result of a change: a JSON document, or a sentence.
func (c *call) print(document any, format string, args ...any) error {
	if c.asJSON {
		return c.printJSON(document)
	}
	return c.say(format, args...)
}

// done prints the result of a change that can be repeated, or returns its error.
func (c *call) done(err error, document any, format string, args ...any) error {
	if err != nil {
		return unsure(err, exitTryLater, "it may have been done all the same; run the command again")
	}
	return c.print(document, format, args...)
}

// printJSON writes v as the only thing on stdout.
func (p *program) printJSON(v any) error {
	document, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("make JSON: %w", err)
	}
	_, err = p.stdout.Write(append(document, '\n'))
	return written(err)
}

// printColumns writes rows in aligned columns. Cells are made printable.
func (p *program) printColumns(rows [][]string) error {
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
		}
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t")) // Flush returns its error
	}
	return written(w.Flush())
}

// say writes one line to stdout. It is made printable.
func (p *program) say(format string, args ...any) error {
	_, err := fmt.Fprintln(p.stdout, printable(fmt.Sprintf(format, args...)))
	return written(err)
}

// sayParagraph is say with an empty line before it.
func (p *program) sayParagraph(format string, args ...any) error {
	_, err := fmt.Fprintf(p.stdout, "\n%s\n", printable(fmt.Sprintf(format, args...)))
	return written(err)
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("stdout cannot be written: %w", reason(err))
	}
	return nil
}

// changeInSecret is change for a command that shows a secret once. It checks the output first.
func (c *call) changeInSecret() error {
	if err := c.secretOutput(); err != nil {
		return err
	}
	return c.change()
}

// secretOutput returns an error if what is written to stdout would be lost, for a command
// that shows a secret once. A closed stdout is the null device to Go.
func (p *program) secretOutput() error {
	outliveReaders() // so that the command can undo its change
	if f, ok := p.stdout.(*os.File); ok {
		info, err := f.Stat()
		null, nullErr := os.Stat(os.DevNull)
		if err == nil && nullErr == nil && os.SameFile(info, null) {
			return tryLaterf("stdout is closed or %s, so nobody could see the secret; nothing was changed", os.DevNull)
		}
	}
	if _, err := p.stdout.Write(nil); err != nil {
		return tryLaterf("%w, so nobody could see the secret; nothing was changed", written(err))
	}
	return nil
}

// undoUnless undoes a change whose secret could not be printed. again says what to do if that
// fails, too.
func undoUnless(printed error, undo func() error, again string) error {
	if printed == nil {
		return nil
	}
	if err := undo(); err != nil {
		return tryLaterf("%w, so nobody has seen the secret, and the change could not be undone (%s); %s", printed, explain(err), again)
	}
	return tryLaterf("%w, so nobody has seen the secret, and the change was undone; run the command again with another output", printed)
}

// counted returns a number with its noun, such as: 1,502 rows.
func counted(n int64, one, several string) string {
	return humanize.Comma(n) + " " + english.PluralWord(int(n), one, several)
}

// printable returns s with everything escaped that could make a terminal do more than show
// it: control characters, which begin escape sequences; marks that change the direction of
// text; and line breaks. Bytes that are not UTF-8 are replaced.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
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

// milliseconds returns a time in the precision in which the hashes of the audit log cover it.
func milliseconds(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// neverIfZero returns a time that people see as never if it is zero.
func neverIfZero(t time.Time) any {
	if t.IsZero() {
		return shown{nil, "never"}
	}
	return t
}

// maxLine is how many bytes of a line a terminal passes on at most (Linux).
const maxLine = 4096

// readLine reads a line from a terminal, which passes on nothing after it.
func readLine(terminal io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(terminal, maxLine)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}
