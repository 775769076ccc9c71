package categoryfile

import (
	"bufio"
	"encoding/csv"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
)

// Writer writes categories in a format. The file is complete after Close.
type Writer struct {
	format Format
	out    *bufio.Writer
	csv    *csv.Writer
	rows   int
}

// NewWriter returns a writer. Write or Close returns an error of writing the header.
func NewWriter(w io.Writer, f Format) *Writer {
	out := bufio.NewWriter(w)
	writer := &Writer{format: f, out: out, csv: csv.NewWriter(out)}
	switch f {
	case CSV:
		_ = writer.csv.Write([]string{fieldID, fieldName, fieldDescription})
	case JSON:
		_, _ = out.WriteString("[")
	case JSONLines:
	}
	return writer
}

// Write writes one category.
func (w *Writer) Write(id int64, name, description string) error {
	w.rows++
	if w.format == CSV {
		return w.csv.Write([]string{strconv.FormatInt(id, 10), name, description})
	}
	row, err := json.Marshal(struct {
		ID          int64  `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
	}{id, name, description})
	if err != nil {
		return err
	}
	switch {
	case w.format == JSONLines:
		row = append(row, '\n')
	case w.rows == 1:
		row = append([]byte("\n"), row...)
	default:
		row = append([]byte(",\n"), row...)
	}
	_, err = w.out.Write(row)
	return err
}

// Close writes the rest of the file. It does not close the underlying writer.
func (w *Writer) Close() error {
	w.csv.Flush()
	if err := w.csv.Error(); err != nil {
		return err
	}
	switch {
	case w.format == JSON && w.rows > 0:
		_, _ = w.out.WriteString("\n]\n") // Flush has the same error
	case w.format == JSON:
		_, _ = w.out.WriteString("]\n")
	}
	return w.out.Flush()
}
