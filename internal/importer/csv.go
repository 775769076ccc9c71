package importer

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// csvReader splits CSV into records. Unlike encoding/csv, it keeps line breaks in quoted fields
// unchanged.
type csvReader struct {
	text string // the unread rest
	line int    // where it begins
}

var (
	errStrayQuote = errors.New(
		"a field has a stray quote; put fields that contain quotes in quotes, and double each quote in them")
	errCR = errors.New("lines end with CR alone, as in files of old Mac programs; " + saveAs)
)

// next returns the next record and its line, or a nil record at the end of the file. It skips
// empty lines. After an error, reading continues on the next line.
func (r *csvReader) next() (record []string, line int, err error) {
	for r.skipLineEnd() {
	}
	line = r.line
	for more := r.text != ""; more; {
		var field string
		if strings.HasPrefix(r.text, `"`) {
			field, err = r.quoted()
		} else {
			field, err = r.plain()
		}
		if err != nil {
			r.skipLine()
			return nil, line, err
		}
		record = append(record, field)
		if more = strings.HasPrefix(r.text, ","); more {
			r.text = r.text[1:]
		}
	}
	r.skipLineEnd()
	return record, line, nil
}

// plain reads an unquoted field.
func (r *csvReader) plain() (string, error) {
	end := strings.IndexAny(r.text, ",\"\n")
	if end < 0 {
		end = len(r.text)
	}
	field := r.text[:end]
	if r.text = r.text[end:]; strings.HasPrefix(r.text, `"`) {
		return "", errStrayQuote
	}
	if !strings.HasPrefix(r.text, ",") {
		field = strings.TrimSuffix(field, "\r")
	}
	if strings.Contains(field, "\r") {
		return "", errCR
	}
	return field, nil
}

// quoted reads a quoted field.
func (r *csvReader) quoted() (string, error) {
	var field strings.Builder
	rest, begin := r.text[1:], r.line
	for {
		end := strings.IndexByte(rest, '"')
		if end < 0 {
			r.text = ""
			return "", fmt.Errorf(
				"the quoted field that begins on line %d is not closed; no row after it was read", begin)
		}
		field.WriteString(rest[:end])
		r.line += strings.Count(rest[:end], "\n")
		rest = rest[end+1:]
		if !strings.HasPrefix(rest, `"`) {
			break
		}
		field.WriteByte('"')
		rest = rest[1:]
	}
	r.text = rest
	if rest == "" || rest[0] == ',' || rest[0] == '\n' || strings.HasPrefix(rest, "\r\n") || rest == "\r" {
		return field.String(), nil
	}
	return "", errStrayQuote
}

// skipLineEnd skips a line break, if it comes next.
func (r *csvReader) skipLineEnd() bool {
	rest, found := strings.CutPrefix(strings.TrimPrefix(r.text, "\r"), "\n")
	if found || r.text == "\r" {
		r.text = rest
		r.line++
	}
	return found
}

// skipLine skips the rest of a line.
func (r *csvReader) skipLine() {
	_, r.text, _ = strings.Cut(r.text, "\n")
	r.line++
}

// readCSV reads a header and the rows after it.
func (f *file) readCSV(text string) error {
	r := &csvReader{text: text, line: 1}
	header, _, err := r.next()
	if err != nil {
		return fmt.Errorf("the first line, which must name the columns, is unreadable: %w", err)
	}
	columns, err := readHeader(header)
	if err != nil {
		return err
	}
	for {
		record, line, err := r.next()
		switch {
		case err != nil:
			f.reject(Row{Line: line}, "%s", err)
		case record == nil:
			return nil
		default:
			f.addRecord(columns, record, line)
		}
	}
}

// columns are the positions of the fields in a record, -1 for none.
type columns struct{ id, name, description, count int }

// readHeader reads the names of the columns. It ignores trailing columns without a name, which
// spreadsheets write.
func readHeader(header []string) (columns, error) {
	c := columns{id: -1, name: -1, description: -1}
	seen := map[string]bool{}
	for _, field := range withoutEmptyEnd(header) {
		name := strings.ToLower(strings.TrimSpace(field))
		switch {
		case seen[name]:
			return c, fmt.Errorf("the column %q occurs twice", field)
		case name == "id":
			c.id = c.count
		case name == "name":
			c.name = c.count
		case name == "description":
			c.description = c.count
		case !utf8.ValidString(field):
			return c, errNotUTF8
		case strings.ContainsAny(field, ";\t"):
			return c, errors.New("the columns are separated by semicolons or tabs instead of commas; " + saveAs)
		default:
			return c, fmt.Errorf(
				"the column %q is unknown; the first line names the columns, separated by commas: %s",
				field, fields)
		}
		seen[name] = true
		c.count++
	}
	if c.name < 0 {
		return c, errors.New("there is no column name; the first line names the columns: " + fields)
	}
	return c, nil
}

func withoutEmptyEnd(record []string) []string {
	for len(record) > 0 && strings.TrimSpace(record[len(record)-1]) == "" {
		record = record[:len(record)-1]
	}
	return record
}

func (f *file) addRecord(c columns, record []string, line int) {
	row := Row{Line: line, NoDescription: c.description < 0}
	if len(record) < c.count || len(withoutEmptyEnd(record)) > c.count {
		f.reject(row, "the first line has %d fields, this row has %d", c.count, len(record))
		return
	}
	cell := func(column int) string {
		if column < 0 {
			return ""
		}
		if f.raw {
			return record[column]
		}
		return unguard(record[column])
	}
	row.ID, row.Name, row.Description = strings.TrimSpace(cell(c.id)), cell(c.name), cell(c.description)
	if !utf8.ValidString(row.Name) || !utf8.ValidString(row.Description) {
		f.reject(row, "%s", errNotUTF8)
		return
	}
	f.rows = append(f.rows, row)
}
