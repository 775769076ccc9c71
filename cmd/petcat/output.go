package main

import (
	"errors"
	"fmt"
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

	"petcat/internal/representation"
)

// record is what a command prints of one thing: a JSON object, lines, or a row of a table. In
// text, created_at becomes created or CREATED, and per_minute becomes per minute or PER MINUTE.
type record = representation.Record

func kv(name string, value any) representation.Member { return representation.KV(name, value) }

// shown returns a value that has another form in text than in JSON.
func shown(value any, text string) representation.Shown {
	return representation.Shown{Value: value, Text: text}
}

// text returns a value as people see it.
func text(value any) string {
	if v, ok := value.(representation.Shown); ok {
		return v.Text
	}
	if v := representation.Plain(value); v != nil {
		return fmt.Sprint(v)
	}
	return "-"
}

// label returns the name of a field as people see it.
func label(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "_at"), "_", " ")
}

// show prints a record: a JSON document, or one line for each field.
func (c *call) show(r record) error {
	if c.asJSON {
		return c.printJSON(r)
	}
	var lines [][]string
	for _, f := range r {
		lines = append(lines, []string{label(f.Name), text(f.Value)})
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
	rows := [][]string{nil}
	for name := range strings.FieldsSeq(columns) {
		rows[0] = append(rows[0], strings.ToUpper(label(name)))
	}
	for _, r := range records {
		var row []string
		for name := range strings.FieldsSeq(columns) {
			for _, f := range r {
				if f.Name == name {
					row = append(row, text(f.Value))
				}
			}
		}
		rows = append(rows, row)
	}
	return c.printColumns(rows)
}

// records returns the records of values of the domain.
func records[T any](c *call, all []T) []record {
	return recordsOf(all, func(v T) record {
		r, _ := representation.Of(v, c.now()).(record)
		return r
	})
}

// recordsOf returns the records of all values.
func recordsOf[T any](all []T, of func(T) record) (records []record) {
	for _, v := range all {
		records = append(records, of(v))
	}
	return records
}

// collect returns everything that each reads.
func collect[T any](each func(func(T) error) error) (all []T, err error) {
	err = each(func(v T) error {
		all = append(all, v)
		return nil
	})
	return all, err
}

// done prints the result of a change as print does, or returns its error.
func (c *call) done(err error, result record, format string, args ...any) error {
	if err != nil {
		return err
	}
	return c.print(result, format, args...)
}

// print prints a JSON document, or a sentence.
func (c *call) print(document any, format string, args ...any) error {
	if c.asJSON {
		return c.printJSON(document)
	}
	return c.say(format, args...)
}

// secretive is what a command has made of which it shows a secret once.
type secretive struct {
	record   record // with the secret
	sentence string // for people, before the secret
	secret   string
	// undo undoes it if the secret could not be printed. If that fails, too, remedy says
	// what to do.
	undo   func() error
	remedy string
}

// showOnce makes something that has a secret, and shows it. It makes nothing if the secret
// would be lost, and undoes it if the secret could not be printed.
func (c *call) showOnce(produce func() (secretive, error)) error {
	outliveReaders() // so that it can be undone
	if err := c.writable(); err != nil {
		return tryLaterf("%w, so nobody could see the secret; nothing was changed", err)
	}
	made, err := produce()
	if err != nil {
		return err
	}
	if c.asJSON {
		err = c.printJSON(made.record)
	} else {
		err = errors.Join(c.say("%s", made.sentence), c.say(""), c.say("%s", made.secret))
	}
	if err == nil {
		return nil
	}
	if undoErr := made.undo(); undoErr != nil {
		return tryLaterf("%w, so nobody has seen the secret, and the change could not be undone (%s); %s", err, explain(undoErr), made.remedy)
	}
	return tryLaterf("%w, so nobody has seen the secret, which is void; run the command again with another output", err)
}

// writable returns an error if what is written to stdout would be lost. A closed stdout is the
// null device to Go.
func (p *program) writable() error {
	if f, ok := p.stdout.(*os.File); ok {
		info, err := f.Stat()
		null, nullErr := os.Stat(os.DevNull)
		if err == nil && nullErr == nil && os.SameFile(info, null) {
			return fmt.Errorf("stdout is closed or %s", os.DevNull)
		}
	}
	_, err := p.stdout.Write(nil)
	return written(err)
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

// warn writes one line to stderr.
func (p *program) warn(format string, args ...any) {
	_, _ = fmt.Fprintln(p.stderr, "petcat: warning: "+printable(fmt.Sprintf(format, args...)))
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("stdout cannot be written: %w", reason(err))
	}
	return nil
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
