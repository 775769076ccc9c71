package categoryfile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"
)

// csvRows reads a header and the records after it. A record may have several lines.
func csvRows(in io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		r := csv.NewReader(in) // takes the number of fields from the header
		header, err := r.Read()
		if err != nil {
			yield(Row{}, headerError(err))
			return
		}
		columns, err := readHeader(header)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			row, err := columns.row(r, record, err)
			_, bad := errors.AsType[*RowError](err)
			if !yield(row, err) || err != nil && !bad {
				return
			}
		}
	}
}

func headerError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty; its first line must name the columns: " + fields)
	}
	return fmt.Errorf("the first line, which must name the columns, cannot be read: %w", err)
}

// columns are the positions of the fields in a record, -1 for none.
type columns struct{ name, description, count int }

func readHeader(header []string) (columns, error) {
	c := columns{name: -1, description: -1, count: len(header)}
	seen := map[string]bool{}
	for i, field := range header {
		field = strings.TrimSpace(field)
		if seen[field] {
			return c, fmt.Errorf("the column %q is there twice", field)
		}
		seen[field] = true
		switch field {
		case fieldName:
			c.name = i
		case fieldDescription:
			c.description = i
		case fieldID:
		default:
			return c, fmt.Errorf("the column %q is unknown; the first line names the columns, separated by commas: %s", field, fields)
		}
	}
	if c.name < 0 {
		return c, errors.New("there is no column name; the first line names the columns: " + fields)
	}
	return c, nil
}

// row returns the row of a record. err is the reader's error for it.
func (c columns) row(r *csv.Reader, record []string, err error) (Row, error) {
	syntax, bad := errors.AsType[*csv.ParseError](err)
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		return Row{}, rowErrorf(syntax.StartLine, "the first line has %d fields, and this row %d", c.count, len(record))
	case bad && syntax.Line > syntax.StartLine:
		return Row{}, rowErrorf(syntax.StartLine, "a quoted field does not end as it should; nothing up to line %d was read", syntax.Line)
	case bad:
		return Row{}, rowErrorf(syntax.StartLine, "a field has a quote where none may be; a field with quotes stands in quotes, and each quote in it is doubled")
	case err != nil:
		return Row{}, err
	}
	row := Row{Name: record[c.name]}
	row.Line, _ = r.FieldPos(0)
	if c.description >= 0 {
		row.Description = record[c.description]
	}
	if !utf8.ValidString(row.Name) || !utf8.ValidString(row.Description) {
		return Row{}, rowErrorf(row.Line, "the row is not text in UTF-8")
	}
	return row, nil
}
