// Package logging writes the service's log with slog: structured lines, as text for people or JSON
// for machines.
//
// A goroutine writes the lines, so callers never wait for a write. It writes access log lines at
// least every [FlushInterval], other lines immediately. If a write fails, or hangs until the buffer
// is full, lines are lost and counted.
//
// The log does not search for secrets: they have the type [petcat.Secret], which prints as
// [redacted]. The access log omits every part of a request that could contain a key.
package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petcat-api/petcat"
)

// Format is the format of log lines.
type Format string

// The formats.
const (
	Text Format = "text" // key=value, for people
	JSON Format = "json" // one object per line, for machines
)

// Log is the log of a process. Use [New]; the caller must call Close.
type Log struct {
	*slog.Logger
	// Always logs to the same place, but ignores the minimum level.
	Always *slog.Logger

	buffer   *buffer
	style    style
	level    *slog.LevelVar
	node     *atomic.Pointer[string]
	rejected *repeated[rejectedGroup, Access]
	library  *repeated[string, libraryLine]
}

// New returns a log that writes to w.
func New(w io.Writer, level slog.Level, format Format) *Log {
	b := newBuffer(w)
	node := new(atomic.Pointer[string])
	least := new(slog.LevelVar)
	least.Set(level)
	logger := func(level slog.Leveler) *slog.Logger {
		options := &slog.HandlerOptions{Level: level, ReplaceAttr: named}
		if format == JSON {
			return slog.New(labelled{slog.NewJSONHandler(b, options), node})
		}
		return slog.New(labelled{slog.NewTextHandler(b, options), node})
	}
	l := &Log{
		Logger: logger(least),
		Always: logger(slog.LevelDebug),
		buffer: b,
		style:  format.style(),
		level:  least,
		node:   node,
	}
	l.rejected = newRepeated[rejectedGroup](func(a *Access, others int64) {
		a.Repeated = others
		l.access(a)
	})
	l.library = newRepeated[string](l.libraryLine)
	return l
}

// SetNode sets the node's label, which is added to all later lines. It must not need escapes.
func (l *Log) SetNode(label string) { l.node.Store(&label) }

// labelled is a handler that adds the node's label.
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

// Level returns the minimum level.
func (l *Log) Level() slog.Level { return l.level.Level() }

// SetLevel sets the minimum level. It is safe for concurrent use.
func (l *Log) SetLevel(level slog.Level) { l.level.Set(level) }

// Lost returns the number of failed writes, each of one or more lines, plus the number of lines
// dropped because the buffer was full.
func (l *Log) Lost() uint64 { return l.buffer.lost.Load() }

// Flush writes the buffered lines.
func (l *Log) Flush() { l.buffer.flush() }

// Close writes the buffered lines, and waits at most one second.
func (l *Log) Close() error {
	l.rejected.close()
	l.library.close()
	done := make(chan struct{})
	go func() {
		l.Flush()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
	return nil
}

// named formats values by their String method, such as the ids of accounts and keys. The JSON handler
// would show numbers.
func named(_ []string, a slog.Attr) slog.Attr {
	if v, ok := a.Value.Any().(fmt.Stringer); ok && a.Value.Kind() == slog.KindAny {
		a.Value = slog.StringValue(v.String())
	}
	return a
}

const (
	// FlushInterval is the maximum time that a line waits in the buffer.
	FlushInterval = 200 * time.Millisecond
	// bufferSize is the number of bytes that triggers a write, about 300 lines.
	bufferSize = 64 << 10
	// maxWaiting is the maximum size of the buffer in bytes, about 5,000 lines.
	maxWaiting = 16 * bufferSize
)

// buffer collects lines. A timer writes them.
type buffer struct {
	w    io.Writer
	lost atomic.Uint64

	mu    sync.Mutex
	lines []byte // guarded by mu
	timer *time.Timer

	writing sync.Mutex // held during a write, to keep the order
	spare   []byte     // guarded by writing
}

func newBuffer(w io.Writer) *buffer {
	b := &buffer{w: w}
	// While a write hangs, other timer calls return, and its loop writes the later lines.
	b.timer = time.AfterFunc(time.Hour, func() {
		for b.waiting() && b.writing.TryLock() {
			b.write()
			b.writing.Unlock()
		}
	})
	b.timer.Stop()
	return b
}

// Write adds a line from a slog handler, and triggers a write. It never fails or blocks.
func (b *buffer) Write(line []byte) (int, error) {
	b.add(func(lines []byte) []byte { return append(lines, line...) })
	b.timer.Reset(0)
	return len(line), nil
}

// add appends a line with appendLine.
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
	if b.waiting() { // the timer may have returned during this write
		b.timer.Reset(0)
	}
}

// write writes the buffered lines. The caller holds writing.
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
	Path      string // without the query, which may contain secrets; "" on the admin listener
	Route     string // the pattern of the path; "" on the API listener
	// Operation is the requested operation, even if the request was rejected; "" for none.
	Operation petcat.OperationID
	// Deprecated is true if the operation is deprecated. The line shows the operator which
	// accounts still call it.
	Deprecated bool
	Status     int
	Code       petcat.Code      // "" unless the response is an error
	Account    petcat.AccountID // 0 without a valid key
	Key        petcat.KeyID
	Actor      petcat.Actor // the operator or token, "" for none
	Address    netip.Addr   // of the client
	Duration   time.Duration
	Bytes      int64 // written of the response body
	Repeated   int64 // number of further responses like this one, without lines
}

// Access logs a request. It does not use slog's handler, which takes several times as long. 429s of one
// key with one code get at most one line per second, and so do those of all unknown clients: a client in
// a loop would fill the disk. The metrics count all.
func (l *Log) Access(a *Access) {
	if a.Status == http.StatusTooManyRequests {
		l.rejected.add(rejectedGroup{a.Key, a.Code}, a)
	} else {
		l.access(a)
	}
}

func (l *Log) access(a *Access) {
	if l.Level() <= slog.LevelInfo {
		l.buffer.add(func(lines []byte) []byte {
			return a.append(&line{b: lines, style: l.style}, l.node.Load())
		})
	}
}

func (a *Access) append(l *line, node *string) []byte {
	l.add(l.begin)
	l.b = a.At.UTC().AppendFormat(l.b, time.RFC3339Nano)
	l.add(l.head, a.RequestID, l.quote)
	l.text("method", sanitize(a.Method))
	l.text("path", sanitize(a.Path))
	l.text("route", a.Route)
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
	if kind, name, found := strings.Cut(string(a.Actor), " "); found { // such as "token ci"
		l.text(kind, name)
	}
	l.add(l.before, "address", l.after, l.quote)
	l.b = a.Address.AppendTo(l.b)
	l.add(l.quote)
	l.number("duration_us", a.Duration.Microseconds())
	l.number("bytes", a.Bytes)
	if a.Repeated > 0 {
		l.number("repeated", a.Repeated)
	}
	if node != nil {
		l.text("node", *node)
	}
	l.add(l.end)
	return l.b
}

// style is the text around the fields of a line.
type style struct {
	begin  string
	head   string // between the first two fields
	before string // before a name
	after  string // after a name
	quote  string // around a string
	end    string
}

func (f Format) style() style {
	if f == JSON {
		return style{
			begin:  `{"time":"`,
			head:   `","level":"INFO","msg":"request","request_id":"`,
			before: `,"`,
			after:  `":`,
			quote:  `"`,
			end:    "}\n",
		}
	}
	return style{
		begin:  "time=",
		head:   " level=INFO msg=request request_id=",
		before: " ",
		after:  "=",
		quote:  "",
		end:    "\n",
	}
}

// line appends the fields of a line. Their values must not need escapes.
type line struct {
	b []byte
	style
}

func (l *line) add(texts ...string) {
	for _, text := range texts {
		l.b = append(l.b, text...)
	}
}

// text appends a field unless its value is empty.
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
	// maxShown is the maximum length of a shown string in bytes.
	maxShown = 256
	// maxWord is the maximum number of consecutive letters and digits. The random part of a key
	// has 38; the words in paths are shorter.
	maxWord = 20
)

// sanitize truncates a string from a client before the first character that needs an escape, and before
// the first word that could be a key. It also truncates before a percent sign, because a key that
// was escaped twice could follow. So clients cannot forge lines or send control codes to a terminal.
func sanitize(s string) string {
	word := 0 // the start of the current word
	for i := range len(s) {
		if isAlphanumeric(s[i]) {
			if i == maxShown || i-word == maxWord {
				return s[:word] + "..."
			}
			continue
		}
		if i == maxShown || needsEscape(s[i]) {
			return s[:i] + "..."
		}
		word = i + 1
	}
	return s
}

// needsEscape reports whether a byte is a percent sign, or would need an escape in one of the formats.
func needsEscape(c byte) bool {
	return c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '%'
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
