package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/petcat-api/petcat"
)

// Meta identifies a dataset.
type Meta struct {
	Environment petcat.Environment
	Dataset     string // its name
	Created     bool   // there was no data before ReadMeta
}

const selectMeta = `
	SELECT e.value, d.value FROM meta AS e, meta AS d
	WHERE e.name = 'environment' AND d.name = 'dataset'`

func scanMeta(row Row) (m Meta, err error) {
	err = row.Scan(&m.Environment, &m.Dataset)
	return m, err
}

// ReadMeta returns the Meta of the data, or creates it if there is no data. It returns a
// [petcat.UnusableError] if the data belongs to an environment other than env. If env is "", it
// accepts any environment, and new data is for production.
func ReadMeta(c Conn, env petcat.Environment, now time.Time) (Meta, error) {
	m, err := queryRow(c, scanMeta, nil, selectMeta)
	if err != nil {
		return Meta{}, err
	}
	if m.Dataset == "" {
		if m, err = createMeta(c, cmp.Or(env, petcat.Production), now); err != nil {
			return Meta{}, err
		}
	}
	if env != "" && m.Environment != env {
		return Meta{}, petcat.Unusablef(nil,
			"the data belongs to the %s environment and this is %s; choose other data with --data or --database, "+
				"or start with the --environment of this data",
			m.Environment, env)
	}
	return m, nil
}

const insertIdentity = `
	INSERT INTO meta (name, value)
	VALUES ('environment', $1), ('dataset', $2), ('created_at', $3)
	ON CONFLICT DO NOTHING`

// createMeta creates the Meta of new data. If several nodes start at once, the first insert wins.
// All insert the rows in the same order, so they cannot deadlock.
func createMeta(c Conn, env petcat.Environment, now time.Time) (Meta, error) {
	name := rand.Text()
	if _, err := c.Exec(insertIdentity, env, name, now.UTC().Format(time.RFC3339)); err != nil {
		return Meta{}, err
	}
	m, err := queryRow(c, scanMeta, nil, selectMeta)
	m.Created = m.Dataset == name
	return m, err
}

// A shared text is short, and read by all processes of a deployment. It is not part of the data: it lacks
// a revision, and backups exclude it.

const selectSharedText = `SELECT value FROM meta WHERE name = $1`

func scanSharedText(row Row) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}

// SharedText returns the text with a name, or "" if it does not exist.
func (s *Store) SharedText(ctx context.Context, name string) (text string, err error) {
	return queryRow(s.reader(ctx, "read the text "+name), scanSharedText, nil, selectSharedText, name)
}

const setSharedText = `
	INSERT INTO meta (name, value)
	VALUES ($1, $2)
	ON CONFLICT (name) DO UPDATE SET value = excluded.value`

// SetSharedText creates or changes a text.
func (s *Store) SetSharedText(ctx context.Context, name, text string) error {
	return s.exec(ctx, "set the text "+name, setSharedText, name, text)
}

// logLevelName is the name of the shared text with a [logLevel].
const logLevelName = "log_level"

type logLevel struct {
	Level slog.Level `json:"level"`
	Until time.Time  `json:"until"`
}

func scanLogLevel(row Row) (l logLevel, err error) {
	var text string
	if err := row.Scan(&text); err != nil {
		return l, err
	}
	err = json.Unmarshal([]byte(text), &l)
	return l, err
}

// LogLevel returns the minimum level of log lines that overrides the settings of all nodes, and
// its expiry, which may be in the past. The expiry is zero if the level was never set.
func (s *Store) LogLevel(ctx context.Context) (level slog.Level, until time.Time, err error) {
	l, err := queryRow(s.reader(ctx, "read the log level"), scanLogLevel, nil, selectSharedText, logLevelName)
	return l.Level, l.Until, err
}

// logLevelID is stored with an idempotency key, because there is one log level, without an id.
const logLevelID = 1

// SetLogLevel overrides the minimum level of log lines of all nodes until a time. A time in the past
// ends the override. It adds an audit entry, because a level can hide log lines.
func (s *Store) SetLogLevel(
	ctx context.Context, by petcat.Author, level slog.Level, until time.Time,
) (r petcat.Result[slog.Level], err error) {
	const action = "log.set_level"
	l := logLevel{level, stored(until)}
	text, err := json.Marshal(l)
	if err != nil {
		return r, err
	}
	tx, err := s.begin(ctx, Work{Doing: "set the log level"})
	if err != nil {
		return r, err
	}
	defer tx.End(&err)
	id, err := tx.replays(by, action)
	if err != nil {
		return r, err
	}
	if id != 0 {
		l, err := queryRow(tx, scanLogLevel, nil, selectSharedText, logLevelName)
		if err != nil {
			return r, err
		}
		return petcat.Result[slog.Level]{Value: l.Level, Replayed: true}, tx.Commit()
	}
	if err := tx.Run(setSharedText, logLevelName, string(text)); err != nil {
		return r, err
	}
	if err := tx.logLevelChange(by.Actor, l); err != nil {
		return r, err
	}
	return petcat.Result[slog.Level]{Value: l.Level}, tx.commitOnce(by, action, logLevelID)
}

// logLevelChange appends the audit entry of a new log level.
func (t *Tx) logLevelChange(by petcat.Actor, l logLevel) error {
	if !t.now.Before(l.Until) {
		return t.log(by, "log.reset_level", "log", nil)
	}
	d := detail{"level": l.Level.String(), "until": l.Until.Format(time.RFC3339)}
	return t.log(by, "log.set_level", "log", d)
}
