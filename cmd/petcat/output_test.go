package main

import (
	"strings"
	"testing"
	"unicode"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "acme", "acme"},
		{"other scripts", "Zoë 犬 🐕 👨‍👩‍👧", "Zoë 犬 🐕 👨‍👩‍👧"},
		{"escape sequence", "\x1b[2Jgone", `\x1b[2Jgone`},
		{"C1 escape", "\u009b2J", `\u009b2J`},
		{"line break", "a\r\nb", `a\r\nb`},
		{"direction", "a\u202eb", `a\u202eb`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"not UTF-8", "a\xffb\x1b", "a\ufffdb" + `\x1b`},
		{"replacement character", "a\ufffdb", "a\ufffdb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := printable(c.text); got != c.want {
				t.Errorf("printable(%q) = %q; want %q", c.text, got, c.want)
			}
		})
	}
}

func TestTableEscapesControlCharacters(t *testing.T) {
	p := new(program)
	must(t, p.printColumns([][]string{{"ID", "NAME"}, {"acct_1", "a\tb\nacct_2\x1b]0;owned\a"}}))
	out := p.printed.String()
	if lines := strings.Count(out, "\n"); lines != 2 {
		t.Errorf("got %d lines, want 2:\n%s", lines, out)
	}
	if i := strings.IndexFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 {
		t.Errorf("a control character at byte %d of %q", i, out)
	}
}

// TestTableAligns: columns are as wide as a terminal shows their texts.
func TestTableAligns(t *testing.T) {
	p := new(program)
	must(t, p.printColumns([][]string{
		{"ID", "NAME", "COLOR"},
		{"1", "dog", "black"},
		{"2", "犬", "black"},       // two cells
		{"3", "ｶﾞ", "black"},      // two characters of half the width
		{"4", "e\u0301", "black"}, // é in two characters, one cell
		{"5", "", "black"},
		{"6", "a name"},
	}))
	want := strings.Join([]string{
		"ID  NAME  COLOR",
		"1   dog   black",
		"2   犬    black",
		"3   ｶﾞ    black",
		"4   e\u0301     black",
		"5         black",
		"6   a name",
		"",
	}, "\n")
	if got := p.printed.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
