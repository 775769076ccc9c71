package categoryfile_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"petcat/internal/categoryfile"
)

// read returns what a file holds: its rows, the errors of rows, and the error that ended
// it, "" for none.
func read(text string, f categoryfile.Format) (rows []categoryfile.Row, bad []categoryfile.RowError, end string) {
	for row, err := range categoryfile.Rows(strings.NewReader(text), f) {
		e, isRow := errors.AsType[*categoryfile.RowError](err)
		switch {
		case isRow:
			bad = append(bad, *e)
		case err != nil:
			end = err.Error()
		default:
			rows = append(rows, row)
		}
	}
	return rows, bad, end
}

func TestRows(t *testing.T) {
	const bom = "\ufeff"
	long := strings.Repeat("x", 2<<20)
	for _, c := range []struct {
		name   string
		format categoryfile.Format
		text   string
		rows   []categoryfile.Row
		bad    []categoryfile.RowError
		end    string // a part of it
	}{
		{name: "csv", format: categoryfile.CSV, text: bom + "description,id,name\r\nA,1,a\r\n\r\n\"two\nlines, \"\"quoted\"\"\",,b\r\n,3,c", rows: []categoryfile.Row{
			{Line: 2, Name: "a", Description: "A"}, {Line: 4, Name: "b", Description: "two\nlines, \"quoted\""}, {Line: 6, Name: "c"},
		}},
		{name: "csv name alone", format: categoryfile.CSV, text: "name\na\n", rows: []categoryfile.Row{{Line: 2, Name: "a"}}},
		{
			name: "csv bad rows", format: categoryfile.CSV, text: "name,description\na,A,too many\nb\nc\"c,\nd,\xff\n\"e\"e,E\nf,F\n\"g,never\nends\n",
			rows: []categoryfile.Row{{Line: 7, Name: "f", Description: "F"}},
			bad: []categoryfile.RowError{
				{Line: 2, Message: "the first line has 2 fields, and this row 3"},
				{Line: 3, Message: "the first line has 2 fields, and this row 1"},
				{Line: 4, Message: "a field has a quote where none may be; a field with quotes stands in quotes, and each quote in it is doubled"},
				{Line: 5, Message: "the row is not text in UTF-8"},
				{Line: 6, Message: "a field has a quote where none may be; a field with quotes stands in quotes, and each quote in it is doubled"},
				{Line: 8, Message: "a quoted field does not end as it should; nothing up to line 9 was read"},
			},
		},
		{name: "csv unknown column", format: categoryfile.CSV, text: "name;description\n", end: `the column "name;description" is unknown; the first line names the columns, separated by commas: name (required), description, and id, which is ignored`},
		{name: "csv column twice", format: categoryfile.CSV, text: "name,name\n", end: `the column "name" is there twice`},
		{name: "csv no name", format: categoryfile.CSV, text: "id,description\n", end: "there is no column name"},
		{name: "csv empty", format: categoryfile.CSV, end: "the file is empty"},
		{name: "csv no header", format: categoryfile.CSV, text: `"name` + "\n", end: "the first line, which must name the columns, cannot be read"},

		{name: "jsonl", format: categoryfile.JSONLines, text: bom + "{\"name\":\"a\"}\r\n\n{\"id\":5,\"name\":\"b\",\"description\":\"B\"}\n  {\"description\":null,\"name\":\"\\u00e9\"}", rows: []categoryfile.Row{
			{Line: 1, Name: "a"}, {Line: 3, Name: "b", Description: "B"}, {Line: 4, Name: "é"},
		}},
		{
			name: "jsonl bad rows", format: categoryfile.JSONLines,
			text: "{\"name\":1}\n{\"name\":\"a\",\"title\":\"t\"}\n{\"description\":\"A\"}\n[]\n{\"name\":\"a\"\n{\"name\":\"a\",\"name\":\"b\"}\n{\"name\":\"\xff\"}\n{\"name\":\"" + long + "\"}\n{\"name\":\"a\"} x\n{\"name\":null}\n{\"name\":\"z\"}\n",
			rows: []categoryfile.Row{{Line: 11, Name: "z"}},
			bad: []categoryfile.RowError{
				{Line: 1, Message: "name must be a string"},
				{Line: 2, Message: `the member "title" is unknown; the members are name (required), description, and id, which is ignored`},
				{Line: 3, Message: "name is required"},
				{Line: 4, Message: `the row must be an object such as {"name": "dog"}`},
				{Line: 5, Message: "the row is not one well-formed JSON object in UTF-8"},
				{Line: 6, Message: "a member is there twice"},
				{Line: 7, Message: "the row is not one well-formed JSON object in UTF-8"},
				{Line: 8, Message: "the line is longer than 2097152 bytes"},
				{Line: 9, Message: "the row is not one well-formed JSON object in UTF-8"},
				{Line: 10, Message: "name is required"},
			},
		},
		{name: "jsonl empty", format: categoryfile.JSONLines},

		{name: "json", format: categoryfile.JSON, text: bom + "\n[{\"name\":\"a\"},\n {\n\"name\":\n\"b\"}\n,{\"name\":\"c\"}]\n", rows: []categoryfile.Row{
			{Line: 2, Name: "a"}, {Line: 3, Name: "b"}, {Line: 6, Name: "c"},
		}},
		{name: "json none", format: categoryfile.JSON, text: "[ ]"},
		{
			name: "json bad rows", format: categoryfile.JSON, text: "[{\"name\":[]},\n1,\n{\"name\":\"a\",\"name\":\"b\"},\n{\"name\":\"z\"}]",
			rows: []categoryfile.Row{{Line: 4, Name: "z"}},
			bad: []categoryfile.RowError{
				{Line: 1, Message: "name must be a string"},
				{Line: 2, Message: `the row must be an object such as {"name": "dog"}`},
				{Line: 3, Message: "a member is there twice"},
			},
		},
		{name: "json cut", format: categoryfile.JSON, text: "[{\"name\":\"a\"},\n{\"name\":\"b\"", rows: []categoryfile.Row{{Line: 1, Name: "a"}}, end: "the file ends in the middle of the JSON array"},
		{name: "json broken", format: categoryfile.JSON, text: "[{\"name\":\"a\"},\n\n{name:\"b\"}]", rows: []categoryfile.Row{{Line: 1, Name: "a"}}, end: "the file is not well-formed JSON in line 3"},
		{name: "json and more", format: categoryfile.JSON, text: "[] []", end: "something follows the array"},
		{name: "json object", format: categoryfile.JSON, text: "{\"name\":\"a\"}\n", end: "its format is jsonl"},
		{name: "json no array", format: categoryfile.JSON, text: "null", end: "no array of objects"},
		{name: "json empty", format: categoryfile.JSON, end: "the file is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, bad, end := read(c.text, c.format)
			if diff := cmp.Diff(c.rows, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.bad, bad); diff != "" {
				t.Errorf("bad rows (-want +got):\n%s", diff)
			}
			if (c.end == "") != (end == "") || !strings.Contains(end, c.end) {
				t.Errorf("it ended with %q, want %q", end, c.end)
			}
		})
	}
}

// TestRowsOfABrokenDisk: an error of the file ends it, and is not taken for its end.
func TestRowsOfABrokenDisk(t *testing.T) {
	broken := errors.New("input/output error")
	for f, text := range map[categoryfile.Format]string{
		categoryfile.CSV: "name\na\n", categoryfile.JSON: `[{"name":"a"},`, categoryfile.JSONLines: "{\"name\":\"a\"}\n",
	} {
		var last error
		for _, err := range categoryfile.Rows(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), f) {
			last = err
		}
		if !errors.Is(last, broken) {
			t.Errorf("%s ended with %v", f, last)
		}
	}
}

func TestFormats(t *testing.T) {
	for path, want := range map[string]categoryfile.Format{"a.csv": "csv", "b/A.CSV": "csv", "a.json": "json", "a.jsonl": "jsonl", "a.ndjson": "jsonl", "csv": "", "a.xlsx": ""} {
		if f, known := categoryfile.FormatOf(path); f != want || known != (want != "") {
			t.Errorf("%s is %q, %t", path, f, known)
		}
	}
	if f, err := categoryfile.ParseFormat("JSONL"); f != categoryfile.JSONLines || err != nil {
		t.Errorf("JSONL is %q, %v", f, err)
	}
	if f, err := categoryfile.ParseFormat("xml"); f != "" || err == nil {
		t.Errorf("xml is %q, %v", f, err)
	}
}

// write returns a file with rows.
func write(t testing.TB, f categoryfile.Format, rows []categoryfile.Row) string {
	t.Helper()
	var b strings.Builder
	w := categoryfile.NewWriter(&b, f)
	for i, row := range rows {
		if err := w.Write(int64(i+1), row.Name, row.Description); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriter(t *testing.T) {
	rows := []categoryfile.Row{{Name: `a "b"`, Description: "<one>, two"}, {Name: "c"}}
	for f, want := range map[categoryfile.Format][2]string{
		categoryfile.CSV:       {"id,name,description\n1,\"a \"\"b\"\"\",\"<one>, two\"\n2,c,\n", "id,name,description\n"},
		categoryfile.JSON:      {"[\n{\"id\":1,\"name\":\"a \\\"b\\\"\",\"description\":\"<one>, two\"},\n{\"id\":2,\"name\":\"c\"}\n]\n", "[]\n"},
		categoryfile.JSONLines: {"{\"id\":1,\"name\":\"a \\\"b\\\"\",\"description\":\"<one>, two\"}\n{\"id\":2,\"name\":\"c\"}\n", ""},
	} {
		if diff := cmp.Diff(want, [2]string{write(t, f, rows), write(t, f, nil)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
	}
}

// TestWriterTellsErrors: a full disk shows at the latest in the end.
func TestWriterTellsErrors(t *testing.T) {
	for _, f := range categoryfile.Formats() {
		r, out := io.Pipe()
		_ = r.CloseWithError(io.ErrShortWrite)
		w := categoryfile.NewWriter(out, f)
		if err := errors.Join(w.Write(1, "a", ""), w.Close()); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// FuzzRows: whatever a file holds, what was read of it and written is read again. CSV
// knows but one kind of line break.
func FuzzRows(f *testing.F) {
	f.Add("name,description\na,\"b\nc\"\n", "csv")
	f.Add("[{\"name\":\"a\"},\n{\"name\":\"b\",\"description\":\"\\r\\n\"}]", "json")
	f.Add("{\"name\":\"a\"}\n\n{", "jsonl")
	f.Fuzz(func(t *testing.T, text, format string) {
		from, err := categoryfile.ParseFormat(format)
		if err != nil {
			return
		}
		rows, bad, _ := read(text, from)
		line := 0
		for _, row := range rows {
			if row.Line < line || row.Line > strings.Count(text, "\n")+1 {
				t.Errorf("a row is in line %d, behind one in line %d", row.Line, line)
			}
			line = row.Line
		}
		for _, row := range bad {
			if row.Line < 1 || row.Line > strings.Count(text, "\n")+1 {
				t.Errorf("a bad row is in line %d", row.Line)
			}
		}
		for _, to := range categoryfile.Formats() {
			again, bad, end := read(write(t, to, rows), to)
			if len(bad) > 0 || end != "" || len(again) != len(rows) {
				t.Fatalf("%s: %d rows became %d, %v, %q", to, len(rows), len(again), bad, end)
			}
			for i, row := range again {
				want := rows[i]
				if to == categoryfile.CSV {
					want.Name = strings.ReplaceAll(want.Name, "\r\n", "\n")
					want.Description = strings.ReplaceAll(want.Description, "\r\n", "\n")
				}
				if row.Name != want.Name || row.Description != want.Description {
					t.Errorf("%s: %+v became %+v", to, want, row)
				}
			}
		}
	})
}
