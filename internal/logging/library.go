package logging

import (
	"context"
	"log"
	"log/slog"
	"strings"
)

// Library returns a logger for the lines of net/http. Lines that begin with the same words get at most
// one line per second, as rejected requests do. Events that unknown clients cause are logged at DEBUG,
// everything else, such as a failed accept, at WARN, and a panic at ERROR.
func (l *Log) Library() *log.Logger { //nolint:forbidigo // net/http needs one
	return log.New(libraryLines{l.library}, "", 0) //nolint:forbidigo // as above
}

// libraryLine is a line of net/http.
type libraryLine struct {
	level slog.Level
	text  string
}

type libraryLines struct {
	repeated *repeated[string, libraryLine]
}

// Write implements [io.Writer] for a [log.Logger], which writes a line at a time.
func (w libraryLines) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	w.repeated.add(beginning(text), &libraryLine{levelOf(text), text})
	return len(line), nil
}

// beginning returns the first three words of a line. In net/http, these are constants.
func beginning(text string) string {
	words := strings.SplitN(text, " ", 4)
	return strings.Join(words[:min(len(words), 3)], " ")
}

func levelOf(text string) slog.Level {
	switch beginning(text) {
	case "http: panic serving", "http2: panic serving":
		return slog.LevelError
	case "http: TLS handshake", "http2: server: error", "http2: server connection", "http2: server closing",
		"http2: received GOAWAY", "timeout waiting for":
		return slog.LevelDebug
	default:
		return slog.LevelWarn
	}
}

// libraryLine logs a line of net/http.
func (l *Log) libraryLine(line *libraryLine, others int64) {
	attrs := []slog.Attr{slog.String("message", line.text)}
	if others > 0 {
		attrs = append(attrs, slog.Int64("repeated", others))
	}
	l.LogAttrs(context.Background(), line.level, "net/http reports", attrs...) //nolint:forbidigo // of no request
}
