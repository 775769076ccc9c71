package main

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/width"

	"github.com/petcat-api/petcat/internal/representation"
)

// record is printed as a JSON object, as lines, or as a row of a table. In text, created_at becomes
// created or CREATED, and per_minute becomes per minute or PER MINUTE.
type record = representation.Record

func kv(name string, value any) representation.Member { return representation.KV(name, value) }

// shown returns a value whose text differs from its JSON.
func shown(value any, text string) representation.Shown {
	return representation.Shown{Value: value, Text: text}
}

// text returns the text of a value.
func text(value any) string {
	if v, ok := value.(representation.Shown); ok {
		return v.Text
	}
	if v := representation.Plain(value); v != nil {
		return fmt.Sprint(v)
	}
	return "-"
}

// label returns the text of a member's name.
func label(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "_at"), "_", " ")
}

// show prints a record as a JSON document, or one line per member.
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

// list prints records as a JSON array, or as a table with the columns, which are separated by
// blanks. Without records, it prints none instead of the table.
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

// records returns the records of domain values.
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

// collect returns all values that each yields.
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

// secretive is something new with a secret, which is shown once.
type secretive struct {
	record   record // with the secret
	sentence string // for people, before the secret
	secret   string
	// undo is called if the secret could not be printed. If undo also fails, remedy tells the user
	// how to undo it.
	undo   func() error
	remedy string
	// lost is for a change that is not undone: it describes the change and the remedy.
	lost string
}

// showOnce calls produce and prints the secret. If stdout is not writable, it does not call produce;
// if printing fails, it undoes the change, if that is possible.
func (c *call) showOnce(produce func() (secretive, error)) error {
	outliveReaders() // to be able to undo the change
	if err := c.writable(); err != nil {
		return tryLaterf("%w, so the secret would be lost; nothing was changed", err)
	}
	made, err := produce()
	if err != nil {
		return err
	}
	if c.asJSON {
		err = c.printJSON(made.record)
	} else {
		err = cmp.Or(c.say("%s", made.sentence), c.say(""), c.say("%s", made.secret))
	}
	if err = cmp.Or(err, c.flush()); err == nil {
		return nil
	}
	if made.undo == nil {
		return tryLaterf("%w; %s", err, made.lost)
	}
	if undoErr := made.undo(); undoErr != nil {
		return tryLaterf(
			"%w, so the secret is lost, and the change could not be undone (%s); %s",
			err, explain(undoErr), made.remedy)
	}
	return tryLaterf(
		"%w, so the secret is lost, and the change was undone; run the command again with another output", err)
}

// writable returns an error if output to stdout would be lost. Go opens the null device for a closed
// stdout.
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

// flush writes the printed output to stdout. The store must be closed, because the reader may be a
// pager; see closeStore.
func (p *program) flush() error {
	defer p.printed.Reset()
	_, err := p.printed.WriteTo(p.stdout)
	return written(err)
}

// printJSON prints v as a JSON document.
func (p *program) printJSON(v any) error {
	document, err := json.Marshal(
		v,
		jsontext.WithIndent("  "),
		json.Deterministic(true),
		jsontext.AllowInvalidUTF8(true),
	)
	if err != nil {
		return fmt.Errorf("make JSON: %w", err)
	}
	_, err = p.printed.Write(append(document, '\n'))
	return err
}

// gap is the number of spaces between columns.
const gap = 2

// printColumns prints rows in aligned columns, and makes their cells printable. The last cell of a row
// may be of any width.
func (p *program) printColumns(rows [][]string) error {
	var widths []int // by column
	for _, row := range rows {
		for i := range row {
			row[i] = printable(row[i])
			if i == len(row)-1 {
				break
			}
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cells(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-cells(cell)+gap))
			}
		}
		b.WriteByte('\n')
	}
	_, err := p.printed.WriteString(b.String())
	return err
}

// cells returns the number of cells that a printable text takes in a terminal: two for a wide East Asian
// character, none for one that combines with the character before it.
func cells(text string) (n int) {
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// say prints one line, and makes it printable.
func (p *program) say(format string, args ...any) error {
	_, err := fmt.Fprintln(&p.printed, printable(fmt.Sprintf(format, args...)))
	return err
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

// printable returns s safe for a terminal: it escapes control characters, marks that change the
// direction of text, and line breaks, and replaces invalid UTF-8.
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

// timestamp formats a time as RFC 3339 in UTC, rounded down to whole seconds.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
