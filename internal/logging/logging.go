// Package logging writes the service's log by slog: structured lines, as text for people or as
// JSON for machines.
//
// A goroutine writes the lines: those of the access log at least every [FlushInterval], others at
// once. So nobody waits for a write. If the writer fails, or hangs for so long that the buffer is
// full, lines are lost and counted.
//
// The log does not search for secrets: they are values of [petcat.Secret], which prints as
// [redacted]. Of a request, the access log shows nothing that could hold a key.
package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"petcat"
)

// Format is how lines look.
type Format string

// The formats.
const (
	Text Format = "text" // key=value, for people
	JSON Format = "json" // one object per line, for machines
)

// Log is the destination of all lines of a process. Use [New], and Close it at the end.
type Log struct {
	*slog.Logger
	buffer *buffer
	style  style
	level  *slog.LevelVar
	node   *atomic.Pointer[string]
}

// New returns a log that writes to w.
func New(w io.Writer, level slog.Level, format Format) *Log {
	b, least := newBuffer(w), &slog.LevelVar{}
	least.Set(level)
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: named}
	var handler slog.Handler = slog.NewTextHandler(b, options)
	if format == JSON {
		handler = slog.NewJSONHandler(b, options)
	}
	node := new(atomic.Pointer[string])
	return &Log{Logger: slog.New(labelled{handler, node}), buffer: b, style: format.style(), level: least, node: node}
}

// SetNode sets the label of the node, which all lines have from now on. It needs no escapes.
func (l *Log) SetNode(label string) { l.node.Store(&label) }

// labelled adds the node's label to lines.
type labelled struct {
	slog.Handler

	node *atomic.Pointer[string]
}

// Handle implements [slog.Handler].
func (h labelled) Handle(ctx context.Context, r slog.Record) error {
	if label := h.node.Load(); label != nil {
		r.AddAttrs(slog.String("node", *label))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h labelled) WithAttrs(attrs []slog.Attr) slog.Handler {
	return labelled{h.Handler.WithAttrs(attrs), h.node}
}

// Level returns the least level that is logged.
func (l *Log) Level() slog.Level { return l.level.Level() }

// SetLevel changes it, while others log.
func (l *Log) SetLevel(level slog.Level) { l.level.Set(level) }

// Lost returns how often lines were lost: writes that failed, each of one line or many, and
// lines for which there was no room.
func (l *Log) Lost() uint64 { return l.buffer.lost.Load() }

// Flush writes what is buffered before it returns.
func (l *Log) Flush() { l.buffer.flush() }

// Close writes what is buffered, and waits for that at most for a second.
func (l *Log) Close() error {
	done := make(chan struct{})
	go func() { l.Flush(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
	return nil
}

// named shows values that have a text of their own by that text in either format, such as the
// ids of accounts and keys: the JSON handler alone would show their numbers.
func named(_ []string, a slog.Attr) slog.Attr {
	if v, ok := a.Value.Any().(fmt.Stringer); ok && a.Value.Kind() == slog.KindAny {
		a.Value = slog.StringValue(v.String())
	}
	return a
}

const (
	// FlushInterval is how long a line may wait in the buffer.
	FlushInterval = 200 * time.Millisecond
	// bufferSize makes a write worth a system call: at 200 bytes a line, one for 300
	// requests.
	bufferSize = 64 << 10
	// maxWaiting is how much may wait while a write hangs: some 5,000 lines.
	maxWaiting = 16 * bufferSize
)

// buffer collects lines, which its timer writes.
type buffer struct {
	w    io.Writer
	lost atomic.Uint64

	mu    sync.Mutex
	lines []byte // guarded by mu
	timer *time.Timer

	writing sync.Mutex // held during a write, so that pieces are written in order
	spare   []byte     // guarded by writing
}

func newBuffer(w io.Writer) *buffer {
	b := &buffer{w: w}
	// If a write hangs, what comes next is left to it.
	b.timer = time.AfterFunc(time.Hour, func() {
		for b.waiting() && b.writing.TryLock() {
			b.write()
			b.writing.Unlock()
		}
	})
	b.timer.Stop()
	return b
}

// Write takes one line of slog's handlers, and has it written at once. It does not fail: lines
// are lost rather than waited for.
func (b *buffer) Write(line []byte) (int, error) {
	b.add(func(lines []byte) []byte { return append(lines, line...) })
	b.timer.Reset(0)
	return len(line), nil
}

// add lets appendLine append a line to the others.
func (b *buffer) add(appendLine func(lines []byte) []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.lines)
	if before >= maxWaiting {
		b.lost.Add(1)
		return
	}
	b.lines = appendLine(b.lines)
	switch {
	case before < bufferSize && len(b.lines) >= bufferSize:
		b.timer.Reset(0)
	case before == 0:
		b.timer.Reset(FlushInterval)
	}
}

func (b *buffer) waiting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.lines) > 0
}

// flush writes the buffered lines after the current write.
func (b *buffer) flush() {
	b.writing.Lock()
	b.write()
	b.writing.Unlock()
	if b.waiting() { // the timer may have left it to this write
		b.timer.Reset(0)
	}
}

// write writes what waits. The caller holds writing.
func (b *buffer) write() {
	b.mu.Lock()
	out := b.lines
	b.lines = b.spare[:0]
	b.mu.Unlock()
	b.spare = out
	if len(out) == 0 {
		return
	}
	if _, err := b.w.Write(out); err != nil {
		b.lost.Add(1)
	}
}

// Access is one line of the access log: a request and its response.
type Access struct {
	At        time.Time
	RequestID string
	Method    string
	Path      string // without the query, which may contain secrets
	// Operation is the requested operation, even if the request was rejected; "" for none.
	Operation petcat.OperationID
	// Deprecated is true if the operation is deprecated. The line shows the operator which
	// accounts still call it.
	Deprecated bool
	Status     int
	Code       petcat.Code      // "" unless the response is an error
	Account    petcat.AccountID // 0 without a valid key
	Key        petcat.KeyID
	Address    netip.Addr // of the client
	Duration   time.Duration
	Bytes      int64 // written of the response body
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
	l.add(l.head, a.RequestID, l.quote)
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
	l.add(l.before, "address", l.after, l.quote)
	l.b = a.Address.AppendTo(l.b)
	l.add(l.quote)
	l.number("duration_us", a.Duration.Microseconds())
	l.number("bytes", a.Bytes)
	if node != nil {
		l.text("node", *node)
	}
	l.add(l.end)
	return l.b
}

// style is what stands around the fields of a line: at its begin, between its first two, before
// and after a name, around a text, and at its end.
type style struct{ begin, head, before, after, quote, end string }

func (f Format) style() style {
	if f == JSON {
		return style{`{"time":"`, `","level":"INFO","msg":"request","request_id":"`, `,"`, `":`, `"`, "}\n"}
	}
	return style{"time=", " level=INFO msg=request request_id=", " ", "=", "", "\n"}
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
		l.b = append(append(append(append(l.b, l.before...), name...), l.after...), l.quote...)
		l.b = append(append(l.b, value...), l.quote...)
	}
}

func (l *line) number(name string, value int64) {
	l.b = strconv.AppendInt(append(append(append(l.b, l.before...), name...), l.after...), value, 10)
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
