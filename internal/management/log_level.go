package management

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/representation"
)

// LogLevelStore has the log level of all nodes.
type LogLevelStore interface {
	LogLevel(ctx context.Context) (level slog.Level, until time.Time, err error)
	SetLogLevel(
		ctx context.Context, by petcat.Author, level slog.Level, until time.Time,
	) (petcat.Result[slog.Level], error)
}

// getLogLevel handles GET /log-level.
func (a *API) getLogLevel(c *call) error {
	level, until, err := a.Store.LogLevel(c.ctx())
	if err != nil {
		return err
	}
	return c.ok(representation.LogLevel(level, until, c.now))
}

// defaultLogLevelTime is how long a log level applies, if the body does not say.
const defaultLogLevelTime = "1h"

// logLevelJSON is the body about a log level.
type logLevelJSON struct {
	Level string `json:"level"`
	For   string `json:"for"`
}

// setLogLevel handles POST /log-level.
func (a *API) setLogLevel(c *call) error {
	var body logLevelJSON
	if err := c.read(&body); err != nil {
		return err
	}
	level, err := config.ParseLogLevel(body.Level)
	if err != nil {
		return petcat.Errorf(petcat.CodeInvalidField, "level %v", err).In("level")
	}
	length, err := config.ParseLogLevelTime(cmp.Or(body.For, defaultLogLevelTime))
	if err != nil {
		return petcat.Errorf(petcat.CodeInvalidField, "for %v", err).In("for")
	}
	by, err := c.author(body)
	if err != nil {
		return err
	}
	set, err := a.Store.SetLogLevel(c.ctx(), by, level, c.now.Add(length))
	if err != nil {
		return err
	}
	c.replayed(set.Replayed)
	return a.getLogLevel(c)
}

// resetLogLevel handles DELETE /log-level: each node uses its own log level again.
func (a *API) resetLogLevel(c *call) error {
	by, err := c.author(nil)
	if err != nil {
		return err
	}
	if _, err := a.Store.SetLogLevel(c.ctx(), by, slog.LevelInfo, time.Time{}); err != nil {
		return err
	}
	return a.getLogLevel(c)
}
