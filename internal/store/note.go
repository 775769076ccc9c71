package store

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"petcat"
)

// logLevelNote is the name of the note that holds a [logLevel].
const logLevelNote = "log_level"

type logLevel struct {
	Level slog.Level `json:"level"`
	Until time.Time  `json:"until"`
}

// logged is the subject of the audit entries about the log.
type logged struct{}

func (logged) String() string { return "log" }

// LogLevel returns the lowest level that all nodes log instead of that of their settings,
// and when that ends. The time may have passed; it is zero if no level was ever set.
func (s *Store) LogLevel(ctx context.Context) (level slog.Level, until time.Time, err error) {
	var l logLevel
	text, err := s.Note(ctx, logLevelNote)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &l)
	}
	return l.Level, l.Until, err
}

// SetLogLevel sets the lowest level that all nodes log until the given time. A time that has
// passed restores the level of their settings. It adds an audit entry, because a level can
// hide log lines.
func (s *Store) SetLogLevel(ctx context.Context, by petcat.Actor, level slog.Level, until time.Time) error {
	const query = `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
	until = stored(until)
	text, err := json.Marshal(logLevel{level, until})
	if err != nil {
		return fmt.Errorf("encode the log level: %w", err)
	}
	return s.Change(ctx, "set the log level", func(t *Tx) error {
		if err := t.exec(query, logLevelNote, string(text)); err != nil {
			return err
		}
		if !t.now.Before(until) {
			return t.record(by, "log.reset_level", logged{}, nil)
		}
		return t.record(by, "log.set_level", logged{}, detail{"level": level.String(), "until": until.Format(time.RFC3339)})
	})
}

// A note is a short named text that all processes of a deployment share. It is not part of
// the data: no backup contains it, and it has no revision.

// Note returns a note, "" if there is none.
func (s *Store) Note(ctx context.Context, name string) (text string, err error) {
	text, _, err = find(ctx, s, "read the note "+name, oneColumn[string], `SELECT value FROM meta WHERE name = ?`, name)
	return text, err
}

// SwapNote changes a note from was to to, and reports whether it did: not if the note has
// changed meanwhile. So of several processes that read the same note, one succeeds. A note
// that does not exist is created, whatever was is. After an error, the note may have changed.
func (s *Store) SwapNote(ctx context.Context, name, was, to string) (swapped bool, err error) {
	const query = `INSERT INTO meta (name, value) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value = ?`
	changed, err := s.Exec(ctx, "change the note "+name, query, name, to, was)
	return changed == 1, err
}
