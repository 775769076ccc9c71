// Package categoryfile reads and writes lists of categories as files: CSV with a header
// (RFC 4180), one JSON array, or JSON lines. What it writes, it reads.
//
// It keeps one row in memory at a time. It does not know the rules for names and
// descriptions, which the service checks. Text that is not UTF-8 is refused, because JSON
// cannot contain it. A row that cannot be read is an error that names its line; the rows
// after it are still read.
package categoryfile

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
)

// Format is the format of a file.
type Format string

// The formats, by the endings of their files.
const (
	CSV       Format = "csv"
	JSON      Format = "json"  // one array
	JSONLines Format = "jsonl" // one object a line
)

// Formats returns all formats.
func Formats() []Format { return []Format{CSV, JSON, JSONLines} }

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	for _, f := range Formats() {
		if string(f) == strings.ToLower(name) {
			return f, nil
		}
	}
	return "", fmt.Errorf("the formats are csv, json (one array) and jsonl (one object a line), not %q", name)
}

// FormatOf returns the format by the ending of a file's name, and whether it is known.
func FormatOf(path string) (f Format, known bool) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		return CSV, true
	case ".json":
		return JSON, true
	case ".jsonl", ".ndjson":
		return JSONLines, true
	default:
		return "", false
	}
}

// The fields of a row. The id is written, and skipped when it is read: the service
// assigns another one.
const (
	fieldID          = "id"
	fieldName        = "name"
	fieldDescription = "description"
	fields           = "name (required), description, and id, which is ignored"
)

// Row is a category in a file.
type Row struct {
	Line        int // of its beginning, from 1
	Name        string
	Description string // "" for none
}

// RowError says why one row cannot be read.
type RowError struct {
	Line    int
	Message string
}

// Error returns the message, and the line.
func (e *RowError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

func rowErrorf(line int, format string, args ...any) error {
	return &RowError{Line: line, Message: fmt.Sprintf(format, args...)}
}

// bom is the byte order mark that some programs write before UTF-8.
const bom = "\ufeff"

// Rows reads a file. A row that cannot be read is a [RowError], and the loop goes on; after
// any other error there are no more rows.
func Rows(r io.Reader, f Format) iter.Seq2[Row, error] {
	in := bufio.NewReaderSize(r, maxLine)
	if begin, _ := in.Peek(len(bom)); string(begin) == bom { // an error shows in the next read
		_, _ = in.Discard(len(bom))
	}
	switch f {
	case CSV:
		return csvRows(in)
	case JSON:
		return arrayRows(in)
	default:
		return lineRows(in)
	}
}
