// Package categoryfile reads and writes lists of categories as files: CSV with a header
// (RFC 4180), one JSON array, or JSON lines. What it writes, it reads.
//
// It holds one row in memory at a time. It knows no rules for names and descriptions:
// those are the service's. Text that is not UTF-8 is refused, because no answer of the
// service could show it as it is. A row that cannot be read is an error that names its
// line, and the rows behind it are read all the same.
package categoryfile

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
)

// Format is how a file is written.
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

// FormatOf returns the format that the ending of a file's name stands for.
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

// bom is what some programs write in front of UTF-8.
const bom = "\ufeff"

// Rows reads a file. A [RowError] stands in the place of a row that cannot be read; after
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
