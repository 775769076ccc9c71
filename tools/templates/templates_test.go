package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wantFormat checks the format of a template, and that it does not change any more.
func wantFormat(t *testing.T, text, want string) {
	t.Helper()
	got, err := Format(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if got != want {
		t.Errorf("the format of\n%s\nis\n%s\nwant\n%s", text, got, want)
	}
	again, err := Format(got)
	if err != nil || again != got {
		t.Errorf("the second format of\n%s\nis\n%s\n(%v)", got, again, err)
	}
}

// long is text of 80 columns, with spaces, in words that are short.
var long = strings.TrimSpace(strings.Repeat("four four ", 8))

// TestLines: each block has a line, and the depth is shown by tabs. Text in one line stays there.
func TestLines(t *testing.T) {
	wantFormat(t, `<ul><li>a <b>b</b></li><li>c</li></ul>`, `<ul>
	<li>a <b>b</b></li>
	<li>c</li>
</ul>
`)
	wantFormat(t, `{{with .Data}}<p>{{.}}</p>{{else if .Other}}<p>other</p>{{else}}<p>none</p>{{end}}`, `{{with .Data}}
	<p>{{.}}</p>
{{else if .Other}}
	<p>other</p>
{{else}}
	<p>none</p>
{{end}}
`)
	wantFormat(t, `<p>{{if .OK}}yes{{else}}no{{end}}</p>`, `<p>{{if .OK}}yes{{else}}no{{end}}</p>
`)
	wantFormat(t, "<p>a</p>\n\n\n<p>b</p>\n<p>c</p>", `<p>a</p>

<p>b</p>
<p>c</p>
`)
}

// TestDefinitions: definitions are separated by empty lines, and their bodies are not indented.
func TestDefinitions(t *testing.T) {
	wantFormat(t, `{{define "a"}}<p>a</p>{{end}}{{define "b"}}{{.}}{{end}}`, `{{define "a"}}
<p>a</p>
{{end}}

{{define "b"}}{{.}}{{end}}
`)
}

// TestLongText: text is broken at its spaces.
func TestLongText(t *testing.T) {
	wantFormat(t, `<p>`+long+` `+long+`</p>`, `<p>
	four four four four four four four four four four four four four four four four four four four four four four four
	four four four four four four four four four
</p>
`)
}

// TestLongTag: each attribute of a long tag has a line.
func TestLongTag(t *testing.T) {
	wantFormat(t, `<input name="name"{{if .X}} required{{end}} value="{{.Get "a  b"}}" placeholder="`+long+`">`, `<input
	name="name"
	{{if .X}}required{{end}}
	value="{{.Get "a  b"}}"
	placeholder="`+long+`"
>
`)
	wantFormat(t,
		"<p\n\tclass='a'\n\t{{if .X}}\n\thidden {{else}} id=\"b\"\n{{end}}\n>text</p>", `<p class='a'{{if .X}} hidden{{else}} id="b"{{end}}>text</p>
`)
}

// TestLongAction: an action is broken at spaces outside of its strings.
func TestLongAction(t *testing.T) {
	wantFormat(t, `{{template "a" (list . "`+long+`" "b  c" "d e f")}}`, `{{template "a" (list . "`+long+`" "b  c"
	"d e f")}}
`)
}

// TestSignificantSpace: no white space is added where it would be shown. Where a line must end there, an
// action removes it again.
func TestSignificantSpace(t *testing.T) {
	wantFormat(t, `<p><b>`+long+`</b><i>`+long+`</i></p>`, `<p>
	<b>`+long+`</b><i>four four four four four
		four four four four four four four four four four four</i>
</p>
`)
	wantFormat(t, `{{define "a"}}{{if .X}}`+long+`{{else}}`+long+`{{end}}{{end}}`, `{{define "a" -}}
{{if .X -}}
	`+long+`
{{- else -}}
	`+long+`
{{- end}}
{{- end}}
`)
	wantFormat(t, `<p>a <span>{{if .X}}`+long+`{{else}}`+long+`{{end}}</span></p>`, `<p>
	a
	<span>
		{{- if .X -}}
			`+long+`
		{{- else -}}
			`+long+`
		{{- end -}}
	</span>
</p>
`)
	wantFormat(t, `<p>{{$x := 1}}{{$x}}</p>`, `<p>{{$x := 1}}{{$x}}</p>
`)
}

// TestTrimMarkers: white space that an action removes is not there.
func TestTrimMarkers(t *testing.T) {
	wantFormat(t, "<p>a {{- .X -}} b</p>", `<p>a{{.X}}b</p>
`)
	wantFormat(t, "<p>{{if .X -}} a {{- end}} b</p>", `<p>{{if .X}}a{{end}} b</p>
`)
}

// TestVerbatim: the text of some elements stays as it is.
func TestVerbatim(t *testing.T) {
	for _, text := range []string{
		"<pre>a\n  b</pre>\n",
		"<textarea name=\"a\">\n{{.Text}}</textarea>\n",
		"<td class=\"text low\">{{with .X}}<div>{{.}}</div>{{else}}–{{end}}</td>\n",
		"<script>if (a <b) { c() }\n</script>\n",
		"{{/* a  comment */}}\n",
	} {
		wantFormat(t, text, text)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"<p>\n<b>a</p>":            "line 2: <b> has no end tag",
		"<p>{{if .X}}</p>{{end}}":  "line 1: {{if .X}} has no {{end}}",
		"a\n</p>":                  "line 2: \"</p>\" ends nothing",
		"{{end}}":                  "ends nothing",
		"{{if .X}}a":               "has no {{end}}",
		"{{.X":                     "the action has no }}",
		"<p {{.X}}>":               "{{.X}} is not in the value of an attribute",
		"<p {{if .X}}a>b{{end}}":   "the tag ends within a control",
		"<p class=\"a>b":           "the value has no closing quote",
		"<p class":                 "the tag has no >",
		"<textarea>{{.X}}</p>":     "<textarea> has no end tag",
		"<!-- a":                   "has no end",
		"<p class=\"{{if .X}\">a ": "the action has no }}",
	} {
		_, err := Format(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v; want %s", text, err, want)
		}
	}
}

// TestCompare: the check after formatting finds white space that is shown, and other changes.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		before, after string
		same          bool
	}{
		{"<p>a</p><p>b</p>", "<p> a </p>\n<p>b</p>", true},
		{"<b>a</b><b>b</b>", "<b>a</b> <b>b</b>", false},
		{"<b>a</b>", "<b> a</b>", false},
		{"a b", "a\n\tb", true},
		{"a b", "ab", false},
		{"<p>a{{if .X}} b{{end}}</p>", "<p>a {{if .X}}b{{end}}</p>", true},
		{"<p>a{{if .X}} b{{end}}c</p>", "<p>a {{if .X}}b{{end}}c</p>", false},
		{"<p>a{{if .X}}<br>{{end}}</p>", "<p>a{{if .X}} <br>{{end}}</p>", true},
		{"<p>{{range .}}<b>a</b>{{end}}</p>", "<p>{{range .}} <b>a</b>{{end}}</p>", false},
		{`<p class="actions"><b>a</b><b>b</b></p>`, `<p class="actions"> <b>a</b> <b>b</b> </p>`, true},
		{`<p>a<input type="hidden">b</p>`, `<p>a <input type="hidden">b</p>`, false},
		{`<p>a</p><input type="hidden">b`, `<p>a</p> <input type="hidden"> b`, true},
		{`{{define "a"}}b{{end}}`, `{{define "a"}} b{{end}}`, false},
		{`<p class="a"></p>`, `<p class="b"></p>`, false},
		{"<pre>a</pre>", "<pre> a</pre>", false},
	} {
		before, err := parse(c.before)
		if err != nil {
			t.Fatal(err)
		}
		after, err := parse(c.after)
		if err != nil {
			t.Fatal(err)
		}
		if err := compare(before, after); (err == nil) != c.same {
			t.Errorf("%s and %s: %v; want the same: %t", c.before, c.after, err, c.same)
		}
	}
}

// TestRun: the command rewrites files, and with -check only lists those that would change.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	good, bad, broken := filepath.Join(dir, "good.html"), filepath.Join(dir, "bad.html"), filepath.Join(dir, "broken.html")
	for name, text := range map[string]string{good: "<p>a</p>\n", bad: "<p> a</p>", broken: "<p>"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		check  bool
		names  []string
		code   int
		stdout string
	}{
		{true, []string{good}, 0, ""},
		{true, []string{good, bad}, 1, bad + "\n"},
		{false, []string{good, bad}, 0, bad + "\n"},
		{true, []string{good, bad}, 0, ""},
		{false, []string{broken, good}, 1, ""},
		{false, []string{filepath.Join(dir, "absent.html")}, 1, ""},
	} {
		var stdout, stderr bytes.Buffer
		code := run(&stdout, &stderr, c.check, c.names)
		if code != c.code || stdout.String() != c.stdout {
			t.Errorf("%t %q: %d, %q (%s); want %d, %q", c.check, c.names, code, &stdout, &stderr, c.code, c.stdout)
		}
	}
}
