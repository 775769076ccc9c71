// Package importer reads and writes lists of categories as files, and creates the categories
// of a file that a service does not have yet.
//
// A file is CSV with a header (RFC 4180), one JSON array, or JSON lines, in UTF-8. Writing and
// reading a list does not change it. Unreadable rows are reported with their line, and do not
// stop the reading. The service validates names and descriptions.
//
// Spreadsheets execute cells that look like a formula, and any customer may write categories. So
// in CSV, an apostrophe precedes such a cell, and such a part of a cell after a separator; reading
// removes it.
//
// An import does not store state: the list of the service shows which rows exist. So it can be
// interrupted and run again at any time. Two concurrent imports of one file do not see each
// other's rows.
package importer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	client "github.com/petcat-api/petcat/client"
)

// Format is the format of a file.
type Format string

// The formats, by file extension.
const (
	CSV       Format = "csv"
	JSON      Format = "json"  // one array
	JSONLines Format = "jsonl" // one object per line
)

// ParseFormat parses the name or the file extension of a format.
func ParseFormat(name string) (f Format, known bool) {
	switch f = Format(strings.ToLower(name)); f {
	case CSV, JSON, JSONLines:
		return f, true
	case "ndjson":
		return JSONLines, true
	default:
		return "", false
	}
}

// fields are the members or columns of a row.
const fields = "name (required), description and id"

// Row is a category in a file.
type Row struct {
	Line        int    // where it begins, from 1
	Element     int    // its number in a JSON array, from 1; 0 in other files
	ID          string // as in the file; "" for none
	Name        string
	Description string // "" for none
	// NoDescription is true if the row has no description, not even an empty one.
	NoDescription bool
	// Update is the id of the category to update, 0 for a new one. [NewPlan] sets it.
	Update int64
}

// BadRow is the reason why a row is not imported.
type BadRow struct {
	Line int
	// Code is a code of the service, or [CodeInvalidRow].
	Code    client.Code
	Message string
}

// CodeInvalidRow is the code for an unreadable row.
const CodeInvalidRow client.Code = "invalid_row"

// bad returns a BadRow. For JSON arrays, which may be on one line, the message has the element's
// number.
func (r Row) bad(code client.Code, message string) BadRow {
	if r.Element > 0 {
		message = fmt.Sprintf("element %d: %s", r.Element, message)
	}
	return BadRow{Line: r.Line, Code: code, Message: message}
}

// FormatError is the error for an unreadable file.
type FormatError struct{ Message string }

func (e *FormatError) Error() string { return e.Message }

// file collects the rows of a file while it is read.
type file struct {
	rows []Row
	bad  []BadRow
	raw  bool // CSV without apostrophes before formulas
}

// reject adds a bad row.
func (f *file) reject(row Row, format string, args ...any) {
	f.bad = append(f.bad, row.bad(CodeInvalidRow, fmt.Sprintf(format, args...)))
}

// Read reads a whole file into memory. raw keeps apostrophes in CSV. It returns a [FormatError], or
// the error of r.
func Read(r io.Reader, format Format, raw bool) ([]Row, []BadRow, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, nil, err
	}
	if err := checkEncoding(text); err != nil {
		return nil, nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	f := &file{raw: raw}
	switch format {
	case CSV:
		err = f.readCSV(string(text))
	case JSON:
		err = f.readArray(text)
	default:
		f.readLines(text)
	}
	if err != nil {
		return nil, nil, &FormatError{err.Error()}
	}
	return f.rows, f.bad, nil
}

// saveAs is the remedy for spreadsheet files.
const saveAs = `save it as "CSV UTF-8 (comma delimited)"`

// checkEncoding returns an error for UTF-16, workbooks and gzip.
func checkEncoding(text []byte) error {
	switch begin := string(text[:min(len(text), 4)]); {
	case strings.HasPrefix(begin, "\x1f\x8b"):
		return &FormatError{"the file is compressed; uncompress it first, with gunzip or zcat"}
	case strings.HasPrefix(begin, "\xff\xfe"), strings.HasPrefix(begin, "\xfe\xff"), strings.Contains(begin, "\x00"):
		return &FormatError{`the file is in UTF-16, as "Unicode Text" of Excel is; ` + saveAs}
	case begin == "PK\x03\x04":
		return &FormatError{"the file is a workbook or a ZIP archive; " + saveAs}
	default:
		return nil
	}
}

// errNotUTF8 is the error for other encodings.
var errNotUTF8 = errors.New("the text is not in UTF-8; " + saveAs)

// The characters that begin a formula, as OWASP lists them, and those that separate cells: with another
// list separator than the comma, a spreadsheet splits a cell of ours.
const (
	formulas   = "=+-@＝＋－＠"
	blanks     = "\t\r\n" // spreadsheets skip them before a formula
	separators = ";," + blanks
)

// guard adds an apostrophe before each part of a cell that looks like a formula, with or without
// apostrophes.
func guard(cell string) string {
	return eachPart(cell, func(part string) string { return "'" + part })
}

// unguard removes the apostrophes of guard.
func unguard(cell string) string {
	return eachPart(cell, func(part string) string { return strings.TrimPrefix(part, "'") })
}

// eachPart replaces the parts of a cell that look like a formula, with or without apostrophes. A part
// begins at the start of the cell, and after each separator.
func eachPart(cell string, replace func(part string) string) string {
	var b strings.Builder
	risky := formulas + blanks // at the start of the cell
	for {
		end := strings.IndexAny(cell, separators) + 1
		if end == 0 {
			end = len(cell)
		}
		part := cell[:end]
		if text := strings.TrimLeft(part, "'"); strings.IndexAny(text, risky) == 0 {
			part = replace(part)
		}
		b.WriteString(part)
		if cell = cell[end:]; cell == "" {
			return b.String()
		}
		risky = formulas
	}
}

// Write writes a list in a format, and calls written after each category. With raw, CSV is written
// without apostrophes.
func Write(w io.Writer, f Format, list iter.Seq2[client.Category, error], raw bool, written func()) error {
	out := bufio.NewWriter(w)
	table := csv.NewWriter(out) // its only buffer
	begin, end := map[Format]string{CSV: "id,name,description\n", JSON: "["}[f], map[Format]string{JSON: "\n]\n"}[f]
	_, _ = out.WriteString(begin) // Flush has the same error
	separator := ""
	cell := func(text string) string {
		if raw {
			return text
		}
		return guard(text)
	}
	for c, err := range list {
		if err != nil {
			return err
		}
		row, err := json.Marshal(c)
		switch {
		case err != nil:
		case f == CSV:
			err = table.Write([]string{strconv.FormatInt(c.ID, 10), cell(c.Name), cell(c.Description)})
		case f == JSON:
			_, err = fmt.Fprintf(out, "%s\n%s", separator, row)
			separator = ","
		default:
			_, err = fmt.Fprintf(out, "%s\n", row)
		}
		if err != nil {
			return err
		}
		written()
	}
	_, _ = out.WriteString(end)
	return out.Flush()
}
