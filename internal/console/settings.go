package console

import (
	"log/slog"
	"strings"
	"time"

	"github.com/petcat-api/petcat"
	"github.com/petcat-api/petcat/internal/config"
	"github.com/petcat-api/petcat/internal/pages"
)

// planView is a plan with its numbers.
type planView struct {
	Plan    petcat.Plan
	Fixed   bool // false: they are agreed with each account
	Quota   petcat.Quota
	Storage petcat.Storage
}

// plans returns all plans.
func plans() (all []planView) {
	for _, p := range petcat.Plans() {
		quota, fixed := p.Quota()
		all = append(all, planView{
			Plan:    p,
			Fixed:   fixed,
			Quota:   quota,
			Storage: p.Storage(),
		})
	}
	return all
}

// settingsView has the settings of this node, the plans, and the log level of all nodes.
type settingsView struct {
	Settings []config.Value
	Plans    []planView
	Level    string    // in lower case, "" if each node uses its own
	Until    time.Time // of Level
}

func (c *Console) settings(x *pages.Exchange) error {
	level, until, err := c.Store.LogLevel(x.R.Context())
	if err != nil {
		return err
	}
	v := settingsView{
		Settings: c.Settings,
		Plans:    plans(),
	}
	if c.now().Before(until) {
		v.Level = strings.ToLower(level.String())
		v.Until = until
	}
	return x.Render("settings", pages.View{
		Title:   "Settings",
		Section: "settings",
		Data:    v,
	})
}

// setLogLevel sets the log level of all nodes temporarily.
func (c *Console) setLogLevel(x *pages.Exchange) error {
	level, err := config.ParseLogLevel(x.Value("level"))
	if err != nil {
		return petcat.Errorf(petcat.CodeInvalidField, "the level %v", err).In("level")
	}
	length, err := config.ParseLogLevelTime(x.Value("for"))
	if err != nil {
		return petcat.Errorf(petcat.CodeInvalidField, "the time %v", err).In("for")
	}
	by, err := x.Author()
	if err != nil {
		return err
	}
	set, err := c.Store.SetLogLevel(x.R.Context(), by, level, c.now().Add(length))
	if err != nil {
		return err
	}
	return x.Made("settings", set.Replayed, "level")
}

// resetLogLevel returns each node to its own log level.
func (c *Console) resetLogLevel(x *pages.Exchange) error {
	by, err := x.Author()
	if err != nil {
		return err
	}
	reset, err := c.Store.SetLogLevel(x.R.Context(), by, slog.LevelInfo, time.Time{})
	if err != nil {
		return err
	}
	return x.Made("settings", reset.Replayed, "reset")
}
