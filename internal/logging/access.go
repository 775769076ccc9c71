package logging

import (
	"log/slog"
	"strconv"
	"time"

	"petcat"
)

// Access is one line of the access log: one request and what became of it.
type Access struct {
	At        time.Time
	RequestID string
	Method    string
	Path      string // without the query, which may hold what should not be in a log
	Operation petcat.OperationID
	// Deprecated says that the operation is deprecated: with its account, the line is how
	// an operator finds out who has to change.
	Deprecated bool
	Status     int
	Code       petcat.Code // "" unless the answer is an error
	Account    petcat.AccountID
	Key        petcat.KeyID
	Address    string
	Duration   time.Duration
	Bytes      int64 // of the answer's body
}

// Access writes one line. It does not use slog's handler, which takes several times as long:
// every request pays for its line.
func (l *Log) Access(a *Access) {
	if l.Level() <= slog.LevelInfo {
		l.buffer.add(func(lines []byte) []byte { return a.append(&line{b: lines, style: l.style}, l.node.Load()) })
	}
}

func (a *Access) append(l *line, node *string) []byte {
	l.add(l.begin)
	l.b = a.At.UTC().AppendFormat(l.b, time.RFC3339Nano)
	l.add(l.quote)
	l.text("level", "INFO")
	l.text("msg", "request")
	l.text("request_id", a.RequestID)
	l.text("method", shown(a.Method))
	l.text("path", shown(a.Path))
	l.text("operation", string(a.Operation))
	if a.Deprecated {
		l.add(l.before, "deprecated", l.after, "true")
	}
	l.number("status", int64(a.Status))
	l.text("code", string(a.Code))
	if a.Account != 0 {
		l.text("account", a.Account.String())
		l.text("key", a.Key.String())
	}
	l.text("address", shown(a.Address))
	l.number("duration_us", a.Duration.Microseconds())
	l.number("bytes", a.Bytes)
	if node != nil {
		l.text("node", *node)
	}
	l.add(l.end)
	return l.b
}

// style is what stands around the fields of a line: at its begin, before and after a name,
// around a text, and at its end.
type style struct{ begin, before, after, quote, end string }

func (f Format) style() style {
	if f == JSON {
		return style{`{"time":"`, `,"`, `":`, `"`, "}\n"}
	}
	return style{"time=", " ", "=", "", "\n"}
}

// line appends the fields of a line. Their texts need no escapes.
type line struct {
	b []byte
	style
}

func (l *line) add(texts ...string) {
	for _, text := range texts {
		l.b = append(l.b, text...)
	}
}

// text appends a field that is not empty.
func (l *line) text(name, value string) {
	if value != "" {
		l.add(l.before, name, l.after, l.quote, value, l.quote)
	}
}

func (l *line) number(name string, value int64) {
	l.add(l.before, name, l.after)
	l.b = strconv.AppendInt(l.b, value, 10)
}

const (
	// maxShown is how much of a text is shown, in bytes.
	maxShown = 256
	// maxWord is how many letters and digits in a row are shown. The random part of a key
	// has 38, the words of paths are shorter.
	maxWord = 20
)

// shown returns what a caller sent up to the first character that would need an escape, or the
// first word that could be a key. A percent sign ends it, too: behind it could be a key that
// was escaped twice. So no caller can forge a line or send control codes to a terminal.
func shown(s string) string {
	word := 0
	for i := range len(s) {
		c := s[i]
		if word++; c-'0' >= 10 && (c|0x20)-'a' >= 26 {
			word = 0
		}
		if word > maxWord || i == maxShown || c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '%' {
			return s[:i-max(word-1, 0)] + "..."
		}
	}
	return s
}
