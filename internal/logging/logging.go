// Package logging writes the service's log: structured lines, as text for
// people or as JSON for machines, through a buffer that is written at least
// every [FlushInterval].
//
// It refuses to write a key: whatever looks like one is masked in the finished line,
// wherever it came from. That is the second defence after [petcat.Secret], which
// already prints as [redacted]. When what it writes to fails, or hangs for so long
// that the buffer is full, lines are lost and counted; at most one caller at a time
// waits for a write.
//
// The price of the buffer is that a process that is killed, or a machine that loses
// power, loses up to FlushInterval of lines. Warnings and errors are written at
// once, and so is everything when the process ends normally.
package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// Format is how lines look.
type Format string

// The formats.
const (
	Text Format = "text" // key=value, for people
	JSON Format = "json" // one object per line, for machines
)

// Log is the destination of all lines of a process. Use [New], and Close it at
// the end.
type Log struct {
	*slog.Logger
	buffer *buffer
	format Format
	stamp  stamp // guarded by buffer.mu
	level  *slog.LevelVar
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
	return &Log{Logger: slog.New(urgent{Handler: handler, buffer: b}), buffer: b, format: format, level: least}
}

// Level returns the least level that is logged.
func (l *Log) Level() slog.Level { return l.level.Level() }

// SetLevel changes it, while others log.
func (l *Log) SetLevel(level slog.Level) { l.level.Set(level) }

// named shows what has a text of its own by that text in either format, such as
// the ids of accounts and keys: the JSON handler alone would show their numbers.
func named(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindAny {
		return a
	}
	if v, ok := a.Value.Any().(fmt.Stringer); ok {
		a.Value = slog.StringValue(v.String())
	}
	return a
}

// Lost returns how often lines were lost: writes that failed, each of one line or
// many, and lines for which there was no room.
func (l *Log) Lost() uint64 { return l.buffer.lost.Load() }

// Flush writes what is buffered, for a line that somebody waits for.
func (l *Log) Flush() { l.buffer.flush() }

// Close writes what is buffered. Lines that are logged later are written at
// once.
func (l *Log) Close() error { return l.buffer.close() }

// urgent writes the buffer through after every warning and error: the lines
// that tell why a process died must not die with it.
type urgent struct {
	slog.Handler
	buffer *buffer
}

func (u urgent) Handle(ctx context.Context, r slog.Record) error {
	err := u.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		u.buffer.flush()
	}
	return err
}

func (u urgent) WithAttrs(attrs []slog.Attr) slog.Handler {
	return urgent{Handler: u.Handler.WithAttrs(attrs), buffer: u.buffer}
}

func (u urgent) WithGroup(name string) slog.Handler {
	return urgent{Handler: u.Handler.WithGroup(name), buffer: u.buffer}
}
