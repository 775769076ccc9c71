package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petcat/internal/config"
)

// resetLevel is the argument that ends a level which was set.
const resetLevel = "reset"

// logLevelCommand changes what running nodes log. Like every management command it writes
// to the data, so only users who may write there can change the level.
func (p *program) logLevelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "log-level [LEVEL]",
		Short:   "Show or change the log level of all running nodes, for a time",
		GroupID: groupRun,
		Long: `Change the lowest level that all nodes of the deployment log, while they run: debug,
info, warn or error. They follow within seconds, and so do nodes that start later. After
the time of --for, or after petcat log-level reset, each node logs again as its own
--log-level says.

Without LEVEL the command shows the current level. Changes are in the audit log.`,
		Example: `  petcat log-level warn --for 30m
  petcat log-level reset`,
		Args:      arguments("[LEVEL]"),
		ValidArgs: []string{"debug", "info", "warn", "error", resetLevel},
	}
	registerStoreFlags(cmd)
	asJSON := jsonFlag(cmd)
	length := cmd.Flags().String("for", "1h", "`time` after which --log-level applies again, such as 30m")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var level slog.Level
		var until time.Time
		if len(args) == 1 && args[0] != resetLevel {
			var err error
			if level, until, err = p.parseLogLevel(args[0], *length); err != nil {
				return err
			}
		}
		open := p.withStore
		if len(args) == 1 {
			open = p.changeStore
		}
		return open(cmd, func(ctx context.Context, st store) error {
			if len(args) == 1 {
				if err := st.SetLogLevel(ctx, actor(), level, until); err != nil {
					return unsure(err, exitTryLater, "the log level may have been changed; check with: petcat log-level, or run the command again")
				}
			}
			level, until, err := st.LogLevel(ctx)
			if err != nil {
				return err
			}
			return p.printLogLevel(level, until, *asJSON)
		})
	}
	return cmd
}

// parseLogLevel reads a level and how long it lasts, and returns when it ends.
func (p *program) parseLogLevel(text, length string) (level slog.Level, until time.Time, err error) {
	level, err = config.ParseLogLevel(text)
	if err != nil {
		return 0, time.Time{}, usageErrorf("LEVEL %v, or %s", err, resetLevel)
	}
	d, err := config.ParseDuration(length)
	if err == nil && d == 0 {
		err = errors.New("must be more than 0")
	}
	if err != nil {
		return 0, time.Time{}, usageErrorf("--for %v", err)
	}
	return level, p.now().Add(d), nil
}

// logLevelJSON is what petcat log-level --json prints. Both members are null while each node
// logs as its settings say.
type logLevelJSON struct {
	Level *string `json:"level"`
	Until *string `json:"until"`
}

func (p *program) printLogLevel(level slog.Level, until time.Time, asJSON bool) error {
	holds, name := p.now().Before(until), strings.ToLower(level.String())
	switch {
	case asJSON && holds:
		return p.printJSON(logLevelJSON{&name, nullableTime(until)})
	case asJSON:
		return p.printJSON(logLevelJSON{})
	case holds:
		return p.say("All nodes log from %s on, until %s. They follow within seconds.", name, timestamp(until))
	default:
		return p.say("Each node logs as its own --log-level says.")
	}
}
