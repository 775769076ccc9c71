package importer_test

import (
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	client "github.com/petcat-api/petcat/client"
	"github.com/petcat-api/petcat/internal/importer"
)

// TestRead: rows have the lines on which they begin. Bad rows are reported by line, and the rest is read.
func TestRead(t *testing.T) {
	const (
		bom   = "\ufeff"
		quote = "a field has a stray quote; put fields that contain quotes in quotes, and double each quote in them"
		utf8  = `the text is not in UTF-8; save it as "CSV UTF-8 (comma delimited)"`
		form  = "the row is not one well-formed JSON object in UTF-8"
	)
	for _, c := range []struct {
		name   string
		format importer.Format
		lines  []string
		rows   []importer.Row
		bad    map[int]string // messages by line
	}{
		{
			name:   "csv",
			format: importer.CSV,
			lines: []string{
				bom + "Description,ID,\" name \"\r",
				"A,1,a\r",
				"\r",
				"\"two\r",
				"lines, \"\"quoted\"\"\",,b\r",
				",3,c",
			},
			rows: []importer.Row{
				{Line: 2, ID: "1", Name: "a", Description: "A"},
				{Line: 4, Name: "b", Description: "two\r\nlines, \"quoted\""},
				{Line: 6, ID: "3", Name: "c"},
			},
		},
		{
			name:   "csv from a spreadsheet",
			format: importer.CSV,
			lines:  []string{"NAME,,", "a,,", "b,", "c", "d,,x", ""},
			rows: []importer.Row{
				{Line: 2, Name: "a", NoDescription: true},
				{Line: 3, Name: "b", NoDescription: true},
				{Line: 4, Name: "c", NoDescription: true},
			},
			bad: map[int]string{5: "the first line has 1 fields, this row has 3"},
		},
		{
			name:   "csv bad rows",
			format: importer.CSV,
			lines: []string{
				"name,description",
				"a,A,too many",
				"b",
				"c\"c,",
				"d,\xff",
				"\"e\"e,E",
				"f,F",
				"\"g",
				"g\"g,",
				"h,\r1",
				"\"i,never",
				"ends",
				"",
			},
			rows: []importer.Row{{Line: 7, Name: "f", Description: "F"}},
			bad: map[int]string{
				2: "the first line has 2 fields, this row has 3",
				3: "the first line has 2 fields, this row has 1",
				4: quote,
				5: utf8,
				6: quote,
				8: quote,
				10: "lines end with CR alone, as in files of old Mac programs; " +
					`save it as "CSV UTF-8 (comma delimited)"`,
				11: "the quoted field that begins on line 11 is not closed; no row after it was read",
			},
		},
		{
			name:   "jsonl",
			format: importer.JSONLines,
			lines: []string{
				bom + "{\"name\":\"a\"}\r",
				"",
				`{"id":5,"name":"b","description":"B"}`,
				`  {"description":null,"name":"\u00e9"}`,
			},
			rows: []importer.Row{
				{Line: 1, Name: "a", NoDescription: true},
				{Line: 3, ID: "5", Name: "b", Description: "B"},
				{Line: 4, Name: "é"},
			},
		},
		{
			name:   "jsonl bad rows",
			format: importer.JSONLines,
			lines: []string{
				`{"name":1}`,
				`{"name":"a","title":"t"}`,
				`{"description":"A"}`,
				`[]`,
				`{"name":"a"`,
				`{"name":"a","name":"b"}`,
				"{\"name\":\"\xff\"}",
				`{"name":"a"} x`,
				`{"name":null}`,
				`{"name":"z"}`,
				"",
			},
			rows: []importer.Row{{Line: 10, Name: "z", NoDescription: true}},
			bad: map[int]string{
				1: "name must be a string",
				2: `the member "title" is unknown; the members are name (required), description and id`,
				3: "name is required",
				4: `the row must be an object such as {"name": "dog"}`,
				5: form,
				6: "a member occurs twice",
				7: form,
				8: form,
				9: "name is required",
			},
		},
		{name: "jsonl empty", format: importer.JSONLines},
		{
			name:   "json",
			format: importer.JSON,
			lines:  []string{bom, `[{"name":"a"},`, ` {`, `"name":`, `"b"}`, `,{"name":"c"}]`, ""},
			rows: []importer.Row{
				{Line: 2, Element: 1, Name: "a", NoDescription: true},
				{Line: 3, Element: 2, Name: "b", NoDescription: true},
				{Line: 6, Element: 3, Name: "c", NoDescription: true},
			},
		},
		{name: "json empty array", format: importer.JSON, lines: []string{"[ ]"}},
		{
			name:   "json bad rows",
			format: importer.JSON,
			lines: []string{
				`[{"name":[]},`,
				`1,`,
				`{"name":"a","name":"b"},`,
				`{"name":"z","description":7},`,
				`{"name":"z"}]`,
			},
			rows: []importer.Row{{Line: 5, Element: 5, Name: "z", NoDescription: true}},
			bad: map[int]string{
				1: "element 1: name must be a string",
				2: `element 2: the row must be an object such as {"name": "dog"}`,
				3: "element 3: a member occurs twice",
				4: "element 4: description must be a string",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.NewReader(strings.Join(c.lines, "\n"))
			rows, bad, err := importer.Read(text, c.format, false)
			if err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.rows, rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			messages := make(map[int]string)
			for _, row := range bad {
				messages[row.Line] = row.Message
				if row.Code != importer.CodeInvalidRow {
					t.Errorf("%+v, want the code %s", row, importer.CodeInvalidRow)
				}
			}
			if diff := cmp.Diff(c.bad, messages, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("bad rows (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnreadableFiles: the error of a file that cannot be read says how to make one that can.
func TestUnreadableFiles(t *testing.T) {
	const csv, json = importer.CSV, importer.JSON
	const separators = "the columns are separated by semicolons or tabs instead of commas"
	for _, c := range []struct {
		format importer.Format
		text   string
		want   string
	}{
		{csv, "name,title\n", `the column "title" is unknown; the first line names the columns, separated by commas: `},
		{csv, "name;description\n", separators},
		{csv, "name\tdescription\n", separators},
		{csv, "name,Name\n", `the column "Name" occurs twice`},
		{csv, "id,description\n", "there is no column name"},
		{csv, "", "there is no column name"},
		{csv, "\"name\n", "the first line, which must name the columns, is unreadable"},
		{csv, "name,\xe9\n", "the text is not in UTF-8"},
		{csv, "name,description\ra,A\r", "lines end with CR alone"},
		{csv, "\xff\xfen\x00a\x00", `the file is in UTF-16, as "Unicode Text" of Excel is; save it as "CSV UTF-8`},
		{json, "\x1f\x8b\x08\x00\x00", "the file is compressed; uncompress it first"},
		{csv, "PK\x03\x04...", "the file is a workbook"},
		{json, "[\x00]\x00", "the file is in UTF-16"},
		{json, "[{\"name\":\"a\"},\n{\"name\":\"b\"", "(line 2: unexpected EOF)"},
		{json, "[{\"name\":\"a\"},\n\n{name:\"b\"}]", "it is not one JSON array of objects (line 3: "},
		{json, "[] []", "(line 1: text follows the array)"},
		{json, "{\"name\":\"a\"}\n", "the format is jsonl"},
		{json, "null", "(line 1: it does not begin with [)"},
		{json, "", "(line 1: EOF)"},
	} {
		_, _, err := importer.Read(strings.NewReader(c.text), c.format, false)
		if _, ok := errors.AsType[*importer.FormatError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got the error %v, want %q", c.format, c.text, err, c.want)
		}
	}
	broken := errors.New("input/output error")
	text := io.MultiReader(strings.NewReader("name\na\n"), iotest.ErrReader(broken))
	if _, _, err := importer.Read(text, csv, false); !errors.Is(err, broken) {
		t.Errorf("read error: %v", err)
	}
}

func TestFormats(t *testing.T) {
	for name, want := range map[string]importer.Format{
		"CSV":    importer.CSV,
		"json":   importer.JSON,
		"jsonl":  importer.JSONLines,
		"ndjson": importer.JSONLines,
		"":       "",
		"xlsx":   "",
	} {
		if f, known := importer.ParseFormat(name); known != (want != "") || f != want {
			t.Errorf("ParseFormat(%q) = %q, %t", name, f, known)
		}
	}
}

// listOf returns an iterator like the client's.
func listOf(list []client.Category) iter.Seq2[client.Category, error] {
	return func(yield func(client.Category, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func write(t testing.TB, f importer.Format, list []client.Category) string {
	t.Helper()
	var b strings.Builder
	if err := importer.Write(&b, f, listOf(list), false, func() {}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrite(t *testing.T) {
	const first, second = `{"id":1,"name":"a \"b\"","description":"<one>, two"}`, `{"id":2,"name":"c"}`
	list := []client.Category{{ID: 1, Name: `a "b"`, Description: "<one>, two"}, {ID: 2, Name: "c"}}
	for f, want := range map[importer.Format][2]string{
		importer.CSV: {
			"id,name,description\n1,\"a \"\"b\"\"\",\"<one>, two\"\n2,c,\n",
			"id,name,description\n",
		},
		importer.JSON:      {"[\n" + first + ",\n" + second + "\n]\n", "[\n]\n"},
		importer.JSONLines: {first + "\n" + second + "\n", ""},
	} {
		if diff := cmp.Diff(want, [2]string{write(t, f, list), write(t, f, nil)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
		r, full := io.Pipe()
		_ = r.CloseWithError(io.ErrShortWrite)
		if err := importer.Write(full, f, listOf(list), false, func() {}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s on a full disk: %v", f, err)
		}
	}
}

// wantRoundTrip checks that a list is unchanged after it was written and read, in each format.
func wantRoundTrip(t *testing.T, list []client.Category) {
	t.Helper()
	for _, f := range []importer.Format{importer.CSV, importer.JSON, importer.JSONLines} {
		rows, bad, err := importer.Read(strings.NewReader(write(t, f, list)), f, false)
		if err != nil || len(bad) > 0 || len(rows) != len(list) {
			t.Fatalf("%s: %d categories are read as %d rows, %v, %v", f, len(list), len(rows), bad, err)
		}
		for i, row := range rows {
			if row.Name != list[i].Name || row.Description != list[i].Description {
				t.Errorf("%s: %+v is read as %+v", f, list[i], row)
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	var list []client.Category
	for _, text := range []string{
		"a\r\nb", "a\rb", "\r", "\n", "\r\n", "a\n", "a\r", "\ufeffa", " a ", "\u2028", "\t",
		`"`, `""`, `a"b`, `"a"`, "a,b", ",", `\.`, `\`, "id", "null", "'", "'a", "''",
		"=1+1", "'=1", "''-", "@x", "-1", "+", "=", "x;@SUM(1)", ";=1", ";'=1", "\n=1",
		"a,-b\t+c\n=d", "＝1", "a;＠b", "'\t=1", ";;'", ";'';=", "é;＋",
	} {
		list = append(list, client.Category{ID: 1, Name: text}, client.Category{ID: 1, Name: "a", Description: text})
	}
	wantRoundTrip(t, list)
}

// TestGuards checks that an apostrophe precedes formulas in CSV, and only there.
func TestGuards(t *testing.T) {
	list := []client.Category{{ID: 1, Name: "=1+1", Description: "'@x"}, {ID: 2, Name: "'a", Description: "a=1"}}
	if got, want := write(t, importer.CSV, list), "id,name,description\n1,'=1+1,''@x\n2,'a,a=1\n"; got != want {
		t.Errorf("written %q, want %q", got, want)
	}
	var raw strings.Builder
	err := importer.Write(&raw, importer.CSV, listOf(list), true, func() {})
	if err != nil || !strings.Contains(raw.String(), "1,=1+1,'@x\n") {
		t.Errorf("raw: %q, %v", raw.String(), err)
	}
	rows, _, err := importer.Read(strings.NewReader("name\n'=1\n"), importer.CSV, true)
	if err != nil || rows[0].Name != "'=1" {
		t.Errorf("read raw: %+v, %v", rows, err)
	}
}

// FuzzRead checks the line numbers of bad rows, and that rows are unchanged after they were written
// and read again.
func FuzzRead(f *testing.F) {
	f.Add("name,description\na,\"b\r\nc\"\n", "csv")
	f.Add("[{\"name\":\"a\"},\n{\"name\":\"b\",\"description\":\"\\r\\n\"}]", "json")
	f.Add("{\"name\":\"a\"}\n\n{", "jsonl")
	f.Fuzz(func(t *testing.T, text, format string) {
		from, known := importer.ParseFormat(format)
		if !known {
			return
		}
		rows, bad, _ := importer.Read(strings.NewReader(text), from, false)
		list, lines := []client.Category(nil), strings.Count(text, "\n")+1
		for _, row := range rows {
			if row.Line < 1 || row.Line > lines {
				t.Errorf("row on line %d of %d", row.Line, lines)
			}
			list = append(list, client.Category{ID: 1, Name: row.Name, Description: row.Description})
		}
		for _, row := range bad {
			if row.Line < 1 || row.Line > lines {
				t.Errorf("bad row on line %d of %d", row.Line, lines)
			}
		}
		wantRoundTrip(t, list)
	})
}

// TestEveryFormulaIsGuarded: a spreadsheet with any list separator does not treat a cell of an export as
// a formula.
func TestEveryFormulaIsGuarded(t *testing.T) {
	for text, want := range map[string]string{
		"=1":          "'=1",
		"x;@SUM(1)":   "x;'@SUM(1)",
		";=HYPERLINK": ";'=HYPERLINK",
		"x\t+1":       "x\t'+1",
		"x,-1":        "x,'-1",
		"x\n=1":       "x\n'=1",
		"\n=1":        "'\n'=1",
		"\r=1":        "'\r'=1",
		"\tx":         "'\tx",
		"＝1":          "'＝1",
		"a;＋1":        "a;'＋1",
		"－1":          "'－1",
		"＠a":          "'＠a",
		"x;'=1":       "x;''=1",
		"it's, a-b=c": "it's, a-b=c",
		"":            "",
	} {
		var list strings.Builder
		row := func(yield func(client.Category, error) bool) {
			yield(client.Category{ID: 1, Name: "x", Description: text}, nil)
		}
		if err := importer.Write(&list, importer.CSV, row, false, func() {}); err != nil {
			t.Fatal(err)
		}
		read, err := csv.NewReader(strings.NewReader(list.String())).ReadAll()
		if err != nil || len(read) != 2 {
			t.Fatalf("%q: %v", list.String(), err)
		}
		got := strings.ReplaceAll(list.String(), `""`, `"`)
		if !strings.Contains(got, want) {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
}
